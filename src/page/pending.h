typedef struct { size_t outliers, wraps; int constant; } cls_column_facts;
typedef struct { int known; size_t trajectories, gaps, duplicates; double spacing, first, last, jitter, widest, widest_after; } cls_time_facts;
#define cls_table_inspect_time(t, f, e) ((void)(f), 1)
#define cls_table_inspect_column(t, k, c, e) ((void)(c), 1)
