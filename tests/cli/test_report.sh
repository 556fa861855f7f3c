#!/usr/bin/env bash
# clausius report, from outside.
. "$(dirname "$0")/../cli/lib.sh"

test_report_of_a_system() {
    run "$CLAUSIUS" report thermal-oscillator -o page.html
    expect_ok
    expect_file page.html
    expect_in_file 'id="laws"' page.html
    expect_in_file 'Bond graph' page.html
    run "$CLAUSIUS" report thermal-oscillator -o again.html
    expect_same page.html again.html
}

test_report_of_a_model_with_data() {
    run "$CLAUSIUS" simulate mass-spring --samples 20 --sample "q~U(-1,1), v.q~U(-1,1)" --seed 1 --h 0.02 --steps 50 --quiet -o train.csv
    expect_ok
    run "$CLAUSIUS" learn mass-spring train.csv --unknown V -o m.safetensors --report learned.html
    expect_ok
    expect_file learned.html
    run "$CLAUSIUS" report m.safetensors --data train.csv -o page.html
    expect_ok
    expect_in_file 'Scores beside the trivial model' page.html
    expect_in_file 'What was found' page.html
    expect_in_file '>p.q</th><td class="n">[0-9]' page.html # the energy is known but for V, and so is p
    # a whole energy that was learned: its momentum has a scale and an origin of its own
    cat >own.clausius <<'EOF'
system "any oscillator"
coordinate  q
lagrangian  L = unknown
start q = 0.6, v.q = 0
step 0.02
until 10
EOF
    run "$CLAUSIUS" learn own.clausius train.csv --quiet -o own.safetensors
    expect_ok
    run "$CLAUSIUS" report own.safetensors --data train.csv -o own.html
    expect_ok
    expect_in_file '>p.q</th><td class="n">has an origin of its own' own.html
    run "$CLAUSIUS" report m.safetensors mass-spring --data train.csv --json
    expect_ok
    expect_json 'len(d["subjects"]) == 2 and d["subjects"][0]["passed"] and d["subjects"][0]["channels"][0]["rmse"] < 1e-3 * d["subjects"][0]["channels"][0]["persistence"]'
}

# A recording: rows that were learned from and rows kept back are told apart by the provenance, the run
# has a band, and the laws are judged along the data, whose input nobody else has.
test_report_of_a_recording() {
    cat >shaken.clausius <<'EOF'
system "a shaken oscillator"
coordinate x
temperature T
input u
parameter k = unknown near 1 in (0, 100), d = unknown near 0.3 in (0, 10)
thermal lagrangian v.x^2/2 - k*x^2/2 + T*(log(T) - 1)
friction F on T: x <- -d*v.x
external force: x <- u
start x = 0.5, v.x = 0, T = 1
EOF
    python3 - >run.csv <<'EOF'
import math, random
random.seed(1); x, v, h = .5, 0., .002
print("time,x,u")
for i in range(12501):
    u = .4*math.sin(.9*h*i)
    if i % 50 == 0: print(f"{h*i:.6g},{x + .01*random.gauss(0, 1):.6f},{u:.6f}")
    v += h*(u - 2*x - .2*v); x += h*v
EOF
    run "$CLAUSIUS" learn shaken.clausius run.csv -o m.safetensors
    expect_ok
    run "$CLAUSIUS" report m.safetensors --data run.csv -o page.html
    expect_ok
    expect_in_file 'train, then .darker ground. test' page.html
    expect_in_file 'class="held"' page.html
    expect_in_file 'class="band"' page.html
    expect_in_file 'Judged along the free run' page.html
    expect_in_file '>Usable:<' page.html
    head -100 run.csv >other.csv
    run "$CLAUSIUS" report m.safetensors --data other.csv -o page.html
    expect_ok
    expect_in_file 'test: not learned from' page.html
}

# The model carries its training curve: the page of `learn` is the page of `report`.
test_training_curve() {
    "$CLAUSIUS" simulate pendulum --samples 4 --sample "q~U(-1,1), v.q~U(-1,1)" --seed 1 --h 0.05 --steps 40 --quiet -o swing.csv
    run "$CLAUSIUS" learn pendulum swing.csv --unknown V --field "network(6)" --optimizer adam --epochs 400 --threads 1 --quiet -o m.safetensors --report learned.html
    expect_ok
    run "$CLAUSIUS" report m.safetensors --data swing.csv -o page.html
    expect_same learned.html page.html
    expect_in_file 'Training curve</strong>: on the data it learns from' page.html
    expect_in_file 'role="img"><title>Training curve</title><desc>' page.html
    run "$CLAUSIUS" report m.safetensors --json
    expect_json 'len(d["subjects"][0]["training"]["loss"]) == len(d["subjects"][0]["training"]["iteration"]) > 3'
    expect_json '(lambda x: all(a < b for a, b in zip(x, x[1:])) and len(x) <= 64)(d["subjects"][0]["training"]["iteration"])'
    run "$CLAUSIUS" show m.safetensors
    expect_no_stdout '"iteration"'
}

# A learned function has the band that its errors say.
test_functions_have_bands() {
    cat >damped.clausius <<'EOF'
system "a damped spring"
coordinate q
temperature T
thermal lagrangian v.q^2/2 - q^2/2 + T*(log(T) - 1)
friction F on T: q <- -0.1*v.q
start q = 1, v.q = 0, T = 1
step 0.02
until 10
EOF
    "$CLAUSIUS" simulate damped.clausius --scheme bdf --quiet -o all.csv
    python3 - >noisy.csv <<'EOF'
import random
random.seed(2)
lines = [l.strip().split(",") for l in open("all.csv") if not l.startswith("#")]
at = [lines[0].index(c) for c in ("time", "q", "v.q", "T")]
print("time,q,v.q,T")
for r in lines[1:]: print(r[at[0]] + "," + ",".join(f"{float(r[k]) + 1e-3*random.gauss(0, 1):.7f}" for k in at[1:]))
EOF
    run "$CLAUSIUS" learn damped.clausius noisy.csv --unknown F -o m.safetensors
    expect_ok
    run "$CLAUSIUS" report m.safetensors --data noisy.csv -o page.html
    expect_ok
    expect_in_file 'F as a function of' page.html
    expect_in_file 'Band: 90 % interval' page.html
    expect_in_file '<th scope="col" class="n">from</th><th scope="col" class="n">to</th>' page.html
    expect_in_file 'clausius learn damped.clausius noisy.csv --unknown F -o m.safetensors|clausius learn damped.clausius noisy.csv -o m.safetensors --unknown F' page.html
    expect_in_file 'learning took [0-9.]+ s' page.html
    expect_in_file 'the windows grow while it learns' page.html # a curve of multiple shooting, too
    run "$CLAUSIUS" report m.safetensors --json
    expect_json 'len(d["subjects"][0]["training"]["loss"]) > 3 and d["subjects"][0]["training"]["loss"][-1] < 0.1'
    expect_json 'any(f["part"] == "F" and f["error"][0] > 0 for f in d["subjects"][0]["functions"])'
}

test_report_of_a_file() {
    printf 'time,a<b>\n0,1\n1,2\n2,4\n' >x.csv
    run "$CLAUSIUS" report x.csv -o x.html
    expect_ok
    expect_in_file 'shown, not judged' x.html
    expect_in_file 'a&lt;b&gt;' x.html
}

# Three steps tell two of the six coefficients.
test_what_the_data_cannot_tell() {
    run "$CLAUSIUS" simulate mass-spring --steps 3 --quiet -o data.csv
    expect_ok
    run "$CLAUSIUS" learn mass-spring data.csv --unknown V --field "monomial(6)" --validate 0 --quiet -o m.safetensors
    run "$CLAUSIUS" report m.safetensors -o m.html
    expect_ok
    grep -q '4 directions of the coefficients change nothing that was measured' m.html || fail "the null space is not told"
}

# A recording whose time is called t, as textbooks have it: everything that learn prints as the next command takes it. The body's
# temperature, which nobody measured, was at its start throughout: a friction in v alone says nothing of it.
test_time_called_t() {
    cat >pushed.clausius <<'EOF'
system "pushed, in oil"
coordinate x
temperature T
input u
thermal lagrangian v.x^2/2 - x^2/2 + 1000*T*(log(T/300) - 1)
friction F on T: x <- unknown dry + viscous
external force: x <- u
start x = 0.5, v.x = 0, T = 300
step 0.05
until 20
EOF
    sed 's/unknown dry + viscous/-0.3*v.x/' pushed.clausius >truth.clausius
    run "$CLAUSIUS" simulate truth.clausius --set "u=sin(1.3*t)" --scheme bdf --quiet -o truth.csv
    expect_ok
    python3 - >run.csv <<'EOF'
import csv, math
print("t,u,x")
for row in csv.DictReader(line for line in open("truth.csv") if line[0] != "#"):
    time = float(row["time"])
    print(f"{time:.2f},{math.sin(1.3 * time)},{row['x']}")
EOF
    run "$CLAUSIUS" learn pushed.clausius run.csv -o m.safetensors
    expect_ok
    run "$CLAUSIUS" simulate m.safetensors --inputs run.csv -o learned.csv
    expect_ok
    expect_no_stderr 'leaves the range'
    run "$CLAUSIUS" simulate m.safetensors --inputs run.csv --from run.csv -o again.csv
    expect_ok
    run "$CLAUSIUS" report m.safetensors --data run.csv -o page.html
    expect_ok
    run "$CLAUSIUS" compare m.safetensors run.csv --columns x --tolerance 1e-2
    expect_ok
    run "$CLAUSIUS" audit learned.csv
    expect_ok
}

test_report_says_what_is_missing() {
    run "$CLAUSIUS" report pendulum
    expect_exit 2
    expect_stderr 'OUT.html'
    run "$CLAUSIUS" report pendulum -o nowhere/x.html
    expect_exit 5
    expect_no_file nowhere
    run "$CLAUSIUS" report pendulum --data absent.csv -o x.html
    expect_exit 5
    expect_no_file x.html
}

# No scroll sideways, no message on the console, every picture has a size: as Chromium sees it.
test_report_in_a_browser() {
    local browser
    browser=$(command -v chromium || command -v chromium-browser) || skip 'no Chromium here'
    run "$CLAUSIUS" report adiabatic-piston -o page.html
    expect_ok
    sed 's#</body>#<script>onload = () => setTimeout(() => { const bad = [...document.querySelectorAll("svg,canvas")].filter(x => x.checkVisibility() \&\& x.getBoundingClientRect().width < 50).length; document.title = "wide " + (document.documentElement.scrollWidth > innerWidth + 1) + " empty " + bad + " laws " + document.querySelector(".laws").textContent; }, 1500);</script></body>#' page.html >probe.html
    for width in 390 1280; do
        run "$browser" --headless --no-sandbox --disable-gpu --virtual-time-budget=6000 --window-size=$width,900 --dump-dom "file://$PWD/probe.html"
        expect_stdout '<title>wide false empty 0 laws [0-9]+ steps of'
        expect_no_stderr 'CONSOLE'
    done
}

run_tests
