/* clausius: systems that keep the two laws. This header includes all the others. */
#ifndef CLAUSIUS_CLAUSIUS_H
#define CLAUSIUS_CLAUSIUS_H

#include <clausius/audit.h>
#include <clausius/draft.h>
#include <clausius/export.h>
#include <clausius/flow.h>
#include <clausius/formulas.h>
#include <clausius/graph.h>
#include <clausius/invariants.h>
#include <clausius/learn.h>
#include <clausius/model.h>
#include <clausius/options.h>
#include <clausius/plot.h>
#include <clausius/random.h>
#include <clausius/report.h>
#include <clausius/scheme.h>
#include <clausius/simulate.h>
#include <clausius/start.h>
#include <clausius/status.h>
#include <clausius/steps.h>
#include <clausius/system.h>
#include <clausius/table.h>
#include <clausius/team.h>

#endif
