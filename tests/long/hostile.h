/* Systems that nobody tuned anything for: everything at once that the language can say about heat.
 * Used by test_sweep.c beside the built-in ones. */
#ifndef TESTS_HOSTILE_H
#define TESTS_HOSTILE_H

static const char *const hostile[] = {
    "system \"two environments and a reservoir\"\n"
    "parameter k1 = 1, k2 = 0.3, k3 = 2, c = 1.5, T0 = 3\n"
    "storage spring(q): q^2/2 + q^4/4\nstorage mass(p): p^2/2\ngyrator link(q, p): 1\n"
    "storage body(entropy s): c*exp(s/c)\nresistive damper(p, entropy s): k3*e.s\n"
    "environment air(entropy s1): T0\nenvironment sea(entropy s2): 2\n"
    "environment weather(entropy s3): 2 + sin(t)\n"
    "resistive one(entropy s, entropy out): k1\nresistive two(entropy s, entropy out): k2\n"
    "resistive three(entropy s, entropy out): k1*k2\n"
    "connect spring.q, link.q\nconnect mass.p, link.p, damper.p\n"
    "connect body.s, damper.s, one.s, two.s, three.s\n"
    "connect air.s1, one.out\nconnect sea.s2, two.out\nconnect weather.s3, three.out\n"
    "start q = 1, p = 0.5, s = 1, s1 = 0.2, s2 = 0\nstep 0.05\n",

    "system \"a matrix between currents and heat\"\n"
    "parameter r = 1, a = 0.1, k = 0.5, L = 2\nlet b = 0.9*tanh(a)*sqrt(r*k) # not negative\n"
    "storage coil(i): i^2/(2*L)\nstorage other(j): j^2/2 + j^4/4\n"
    "storage hot(entropy s_h): exp(s_h)\nstorage cold(entropy s_c): 2*exp(s_c/2)\n"
    "resistive couple(i, entropy h, entropy c): matrix {i, i} = r, {i, h} = b, {h, h} = k\n"
    "resistive heater(j, entropy h): r*e.h\nconnect coil.i, couple.i\n"
    "connect other.j, heater.j\nconnect hot.s_h, couple.h, heater.h\nconnect cold.s_c, couple.c\n"
    "start i = 1, j = -0.5, s_h = 1, s_c = 0.5\nstep 0.05\n",

    "system \"a top that warms two bodies\"\n"
    "rigid body mu1, mu2, mu3 with velocity w1, w2, w3\nvertical g1, g2, g3 of mu1, mu2, mu3\n"
    "entropy S1, S2\nparameter I1 = 1, I3 = 3, m = 1, f = 0.05, k = 0.2, c = 1\n"
    "hamiltonian mu1^2/(2*I1) + mu2^2/4 + mu3^2/(2*I3) + m*g3 + c*exp(S1/c) + exp(S2)\n"
    "friction on S1: mu1 <- -f*w1, mu2 <- -f*w2\nfriction on S2: mu3 <- -f*(1 + w3^2)*w3\n"
    "heat exchange T1 <-> T2: k\n"
    "start mu1 = 0.1, mu2 = 0.2, mu3 = 1, g1 = 0, g2 = 0.6, g3 = 0.8, S1 = 0, S2 = 0.3\n"
    "step 0.05\n",

    "system \"driven, heated, in a room\"\n"
    "parameter a = 1, w = 2, f = 0.3, k = 0.5, ka = 0.2, q = 0.4\n"
    "input u = a*sin(w*t)\ninput P = q*(1 + sin(3*t))\ncoordinate x\ntemperature T1, T2\n"
    "reservoir Tr = 2 + 0.5*sin(t)\n"
    "thermal lagrangian v.x^2/2 - x^2/2 - x^4/4 + T1*(log(T1*(1 + 0.1*x^2)) - 1) + T2^2/2\n"
    "friction on T1: x <- -f*v.x\nfriction on Tr: x <- -0.1*f*v.x^3\n"
    "heat exchange T1 <-> T2: k\nheat exchange T2 <-> Tr: ka\nheat source on T1: P\n"
    "external force: x <- u\nstart x = 0.3, v.x = 0, T1 = 1, T2 = 1.5\nstep 0.05\n",

    "system \"a chain of five\"\n"
    "coordinate x, y\nentropy S1, S2, S3, S4, S5\nparameter k = 0.5, f = 0.1, c = 2, m = 1\n"
    "hamiltonian p.x^2/(2*m) + p.y^2/2 + x^2/2 + (x - y)^4/4 + exp(S1) + c*exp(S2/c)\n"
    "    + exp(S3)*(1 + 0.1*x^2) + 3*exp(S4/3) + exp(2*S5)/2\n"
    "friction on S1: x <- -f*v.x\nfriction on S3: x <- -f*(v.x - v.y), y <- -f*(v.y - v.x)\n"
    "friction on S5: y <- -f*T4*v.y\n"
    "heat exchange T1 <-> T2: k\nheat exchange T2 <-> T3: 0.01*k\nheat exchange T3 <-> T4: 30*k\n"
    "heat exchange T4 <-> T5: k*T4\n"
    "start x = 1, y = -0.5, p.x = 0, p.y = 0.3, S1 = 0.5, S2 = 0.3, S3 = 0, S4 = 0.2, S5 = 0.1\n"
    "step 0.05\n",

    "system \"metriplectic with brackets\"\n"
    "coordinate x\nmomentum l1, l2, l3 with velocity w1, w2, w3\nentropy s_a, s_b\n"
    "parameter k = 0.5, g = 0.2, c = 3, b = 1\n"
    "poisson {l1, l2} = -b*l3\npoisson {l2, l3} = -b*l1\npoisson {l3, l1} = -b*l2\n"
    "energy E = p.x^2/2 + x^2/2 + x*l3 + l1^2/2 + l2^2/3 + l3^2 + c*exp(s_a/c) + exp(s_b)\n"
    "dissipation k/(theta_a*theta_b): s_a <- theta_b, s_b <- -theta_a\n"
    "dissipation g/theta_a: p.x <- theta_a, s_a <- -v.x\n"
    "dissipation g/theta_b: l1 <- theta_b, s_b <- -w1\n"
    "start x = 1, p.x = 0, l1 = 0.3, l2 = -0.5, l3 = 0.2, s_a = 0.5, s_b = 0\nstep 0.05\n",

    "system \"gas and piston, by internal energy\"\n"
    "coordinate x in (0, inf)\nmomentum U with velocity e_U\nparameter c = 1.5, R = 1, g = 0.2\n"
    "energy E = p.x^2/2 + x + U\ntotal entropy = c*log(U) + R*log(x)\n"
    "poisson {p.x, U} = R*U/(c*x)\ndissipation g*U/c: p.x <- e_U, U <- -v.x\n"
    "start x = 1, p.x = 0.3, U = 2\nstep 0.05\n",

    "system \"seven rooms, one heated, one cooled\"\n"
    "parameter k = 0.5, ka = 0.1, P = 0.3, c = 2, a = 1\n"
    "entropy S[1..7] with temperature T[1..7]\n"
    "reservoir Tr = 2 + a*sin(3*t)\nreservoir Tw = 1.5\n"
    "hamiltonian sum(i in 1..7: c*exp(S[i]/c)*(1 + 0.1*i))\n"
    "for i in 1..6: heat exchange T[i] <-> T[i+1]: k*(1 + 0.1*i*T[i]*T[i+1])\n"
    "heat exchange T[1] <-> T[7]: 100*k\nheat exchange T[2] <-> Tr: ka\n"
    "heat exchange T[5] <-> Tw: 30*ka*T[5]\nheat source on T[3]: P\nheat source on T[6]: -P\n"
    "start S[1] = 1, S[2] = 0.3, S[3] = 2, S[4] = 0, S[5] = 1.5, S[6] = 1.2, S[7] = 0.4\nstep "
    "0.05\n",

    "system \"three gases, two pistons, leaking walls\"\n"
    "coordinate x in (-1, 1), y in (2, 4)\ntemperature T1, T2, T3\n"
    "parameter k = 0.3, f = 0.2, P = 0.1, ka = 0.5, m = 1\nreservoir Tr = 1.2 + 0.3*cos(5*t)\n"
    "thermal lagrangian m*v.x^2/2 + v.y^2/2 + T1*(log((1 + x)*T1) - 1) + T2*(log((y - x)*T2^2) - 2)"
    " + T3*(log((4 - y)*T3) - 1)\n"
    "friction on T1: x <- -f*v.x\nfriction on T2: x <- -f*(v.x - v.y), y <- -f*(v.y - v.x)\n"
    "friction on Tr: y <- -f*v.y\nheat exchange T1 <-> T2: k\nheat exchange T2 <-> T3: k*T2\n"
    "heat exchange T3 <-> Tr: ka\nheat source on T2: P*sin(7*t)\n"
    "start x = 0, y = 3, v.x = 0.5, v.y = -0.3, T1 = 1, T2 = 1.3, T3 = 0.8\nstep 0.02\n",

    "system \"two pendulums driven in a room\"\n"
    "parameter I = 0.08, k = 1.4, f = 0.5, a = 3, w = 4.2, c = 0.3, T0 = 293\n"
    "input u = a*sin(w*t)\ncoordinate x, y\nreservoir Tr = T0\nreservoir Ts = 0.01*T0\n"
    "lagrangian I*v.x^2/2 + v.y^2/20 + k*cos(x) + cos(y) + c*cos(x - y)\n"
    "friction on Tr: x <- -f*v.x\nfriction on Ts: x <- -0.1*f*(v.x - v.y), y <- -0.1*f*(v.y - "
    "v.x)\n"
    "external force: x <- u\nstart x = 0.5, v.x = 0, y = 0.1, v.y = 0\nstep 0.01\n",
};
enum { N_HOSTILE = sizeof hostile / sizeof *hostile };

#endif
