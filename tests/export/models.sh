# Learned models of every kind of field, made in seconds: make_model NAME writes NAME.safetensors.
# They need not be good models; what is compared is the export with the library.

export_models="chebyshev monomial tanh softplus sin convex terms ports"

friction() { # FIELD OPTIONS...
    [[ -f piston.csv ]] || "$CLAUSIUS" simulate adiabatic-piston --steps 400 --every 4 --quiet -o piston.csv
    "$CLAUSIUS" learn adiabatic-piston piston.csv --unknown "F1, F2" --field "$1" --threads 1 --quiet "${@:2}"
}

make_model() {
    case $1 in
    chebyshev) friction "chebyshev(3)" -o chebyshev.safetensors ;;
    monomial) friction "monomial(2)" -o monomial.safetensors ;;
    tanh) friction "network(24, 20)" --optimizer adam --epochs 3 -o tanh.safetensors ;;
    softplus) friction "network(16, 12, softplus)" --optimizer adam --epochs 3 -o softplus.safetensors ;;
    sin) friction "network(16, 12, sin)" --optimizer adam --epochs 3 -o sin.safetensors ;;
    convex)
        cat >well.clausius <<'S'
system "any oscillator"
coordinate q
hamiltonian H = unknown network(8, 8, convex)
start q = 0.6, p.q = 0
step  0.02
until 10
S
        "$CLAUSIUS" simulate mass-spring --samples 40 --sample "q~U(-1,1), p.q~U(-1,1)" --seed 3 --steps 20 --h 0.05 --quiet -o spring.csv
        "$CLAUSIUS" learn well.clausius spring.csv --epochs 100 --threads 1 --quiet -o convex.safetensors
        ;;
    terms)
        "$CLAUSIUS" simulate thermoelastic-double-pendulum --scheme bdf --steps 159 --quiet -o measured.csv
        "$CLAUSIUS" learn thermoelastic-double-pendulum measured.csv --unknown "E, M" --optimizer qp --symmetry J --sparse 0.01 \
            --dictionary "E: polynomial(2), lambda_a, lambda_b, exp(s_a/c), exp(s_b/c); M: polynomial(1)" --quiet -o terms.safetensors
        ;;
    ports)
        cat >shaker.clausius <<'S'
parameter m = 2, c = 1, theta0 = 300
storage     spring(q): q^2/(2*c)
storage     mass(p):   p^2/(2*m)
storage     casing(entropy s_d): exp(s_d)
environment air(entropy s_e): theta0
gyrator     link(q, p): 1
resistive   damper(p, entropy s): 0.5*(1 + 3*e.p^2)
resistive   conduction(entropy s, entropy out): 0.2
connect spring.q, link.q
connect mass.p, link.p, damper.p
connect casing.s_d, damper.s, conduction.s
connect air.s_e, conduction.out
start q = 1, p = 1, s_e = 0.2, s_d = 5.8
step  0.1
until 20
S
        "$CLAUSIUS" simulate shaker.clausius --scheme implicit-midpoint --until 19.9 --quiet -o shaker.csv
        "$CLAUSIUS" learn shaker.clausius shaker.csv --unknown damper --field "chebyshev(4)" --scheme implicit-midpoint --quiet -o ports.safetensors
        ;;
    esac
}

# The same names and, whatever their texts, the same bits.
same_numbers() {
    expect /usr/bin/python3 -c '
import sys
def rows(path):
    lines = [x.rstrip("\n").split(",") for x in open(path) if not x.startswith("#")]
    return lines[:1] + [[float(c).hex() for c in r] for r in lines[1:]]
a, b = rows(sys.argv[1]), rows(sys.argv[2])
sys.exit(0 if a == b and len(a) > 2 else 1)' "$1" "$2"
}

default_step() { "$CLAUSIUS" show "$1" --json | /usr/bin/python3 -c 'import json,sys; print(json.load(sys.stdin).get("step", 0.01))'; }

# export_model NAME STEPS EVERY CFLAGS...: compiled and compared with the library, row by row
export_model() {
    local h
    make_model "$1" 2>/dev/null # it may say that it is a bad one
    [[ -f $1.safetensors ]] || fail "no model $1"
    rm -rf "$1.c"
    run "$CLAUSIUS" export c "$1.safetensors" -o "$1.c" --prefix "model_$1"
    expect_ok
    gcc -std=c99 -pedantic -Wall -Wextra -Wconversion -Wshadow -Werror -fno-math-errno "${@:4}" "$1.c"/*.c -lm -o "$1.c/main" ||
        fail "$1: the exported C does not compile without a word"
    h=$(default_step "$1.safetensors")
    "$1.c/main" "$2" "$h" "$3" >exported.csv || fail "$1: the exported motion stops"
    "$CLAUSIUS" simulate "$1.safetensors" --steps "$2" --h "$h" --every "$3" --quiet -o simulated.csv || fail "simulate $1"
    same_numbers exported.csv simulated.csv
}
