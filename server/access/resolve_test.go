package access

import (
	"math/rand/v2"
	"testing"
)

func TestMatrixIsTheContracts(t *testing.T) {
	for role, want := range map[Role][3]string{
		None:     {"-", "-", "-"},
		Read:     {"R", "R", "-"},
		Triage:   {"R", "R", "-"},
		Write:    {"RW", "RW", "R"},
		Maintain: {"RW", "RW", "R"},
		Admin:    {"RW", "RW", "RW"},
		6:        {"-", "-", "-"},
	} {
		for i, et := range EnvTypes() {
			if got := letters(Matrix(role, et)); got != want[i] {
				t.Errorf("%s on %s: %s, want %s", role, et, got, want[i])
			}
		}
	}
}

func letters(r Rights) string {
	switch r {
	case Rights{}:
		return "-"
	case Rights{Read: true}:
		return "R"
	case Rights{Write: true}:
		return "W"
	}
	return "RW"
}

func TestOverrideTakesRightsFromAnAdmin(t *testing.T) {
	s := Subject{Role: Admin, UserID: "u", Environment: "production", Type: Protected}
	if got := Resolve(s, []Override{{Environment: "*", Role: Admin, Rights: Rights{Read: true}}}, nil); letters(got) != "R" {
		t.Error(letters(got))
	}
}

func TestDefaultBooleansCountOneByOne(t *testing.T) {
	yes, no := true, false
	s := Subject{Role: Write, UserID: "u", Environment: "production", Type: Protected}
	for _, c := range []struct {
		choice Choice
		want   string
	}{{Choice{}, "R"}, {Choice{Write: &yes}, "RW"}, {Choice{Read: &no}, "-"}, {Choice{Read: &no, Write: &yes}, "W"}} {
		got := Resolve(s, nil, Defaults{Write: {Protected: c.choice}, Admin: {Protected: {Read: &no}}})
		if letters(got) != c.want {
			t.Errorf("%s, want %s", letters(got), c.want)
		}
	}
}

func TestMatrixDefaultsChangeNothing(t *testing.T) {
	for _, role := range append(Roles(), None) {
		for _, et := range EnvTypes() {
			s := Subject{Role: role, Environment: "e", Type: et}
			if got := Resolve(s, nil, MatrixDefaults()); got != Matrix(role, et) {
				t.Errorf("%s on %s: %s", role, et, letters(got))
			}
		}
	}
}

// scene is a random subject before random overrides and defaults, with many
// near misses.
type scene struct {
	subject   Subject
	overrides []Override
	defaults  Defaults
}

func randomScene(random *rand.Rand) scene {
	flip := func() bool { return random.IntN(2) == 0 }
	choose := func(names ...string) string { return names[random.IntN(len(names))] }
	role := func() Role { return Roles()[random.IntN(5)] }
	s := scene{
		subject:  Subject{Role: role(), UserID: choose("u1", "u2", ""), Environment: choose("dev", "prod")},
		defaults: Defaults{},
	}
	s.subject.Type = EnvTypes()[random.IntN(3)]
	taken := map[Override]bool{}
	for range random.IntN(12) {
		o := Override{Environment: choose("dev", "prod", "*")}
		if flip() {
			o.UserID = choose("u1", "u2", "u3")
		} else {
			o.Role = role()
		}
		if taken[o] {
			continue // a vault has one override per target and environment
		}
		taken[o] = true
		o.Rights = Rights{Read: flip(), Write: flip()}
		s.overrides = append(s.overrides, o)
	}
	for range random.IntN(8) {
		choice := Choice{}
		if v := flip(); flip() {
			choice.Read = &v
		}
		if v := flip(); flip() {
			choice.Write = &v
		}
		s.defaults[role()] = map[EnvType]Choice{EnvTypes()[random.IntN(3)]: choice}
	}
	return s
}

// byTheBook walks through the contract's list from top to bottom.
func byTheBook(s scene) Rights {
	who := s.subject
	for _, target := range []struct {
		userID string
		role   Role
		env    string
	}{
		{who.UserID, None, who.Environment}, {who.UserID, None, "*"},
		{"", who.Role, who.Environment}, {"", who.Role, "*"},
	} {
		for _, o := range s.overrides {
			if o.UserID == target.userID && o.Role == target.role && o.Environment == target.env {
				return o.Rights
			}
		}
	}
	rights := Matrix(who.Role, who.Type)
	if v := s.defaults[who.Role][who.Type].Read; v != nil {
		rights.Read = *v
	}
	if v := s.defaults[who.Role][who.Type].Write; v != nil {
		rights.Write = *v
	}
	return rights
}

func TestResolveFollowsTheContractsOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 50_000 {
		s := randomScene(random)
		got := Resolve(s.subject, s.overrides, s.defaults)
		if want := byTheBook(s); got != want {
			t.Fatalf("%+v: %s, want %s", s, letters(got), letters(want))
		}
		random.Shuffle(len(s.overrides), func(i, j int) {
			s.overrides[i], s.overrides[j] = s.overrides[j], s.overrides[i]
		})
		if again := Resolve(s.subject, s.overrides, s.defaults); again != got {
			t.Fatalf("%+v: the order of overrides matters", s)
		}
	}
}

func TestWithoutRoleNothingHelps(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		s := randomScene(random)
		s.subject.Role = None
		s.overrides = append(s.overrides,
			Override{Environment: "*", UserID: s.subject.UserID, Rights: Rights{true, true}})
		if got := Resolve(s.subject, s.overrides, s.defaults); got != (Rights{}) {
			t.Fatalf("%+v: %s", s, letters(got))
		}
	}
}

func TestTestKeyOnlyRemoves(t *testing.T) {
	for _, r := range []Rights{{}, {Read: true}, {Write: true}, {Read: true, Write: true}} {
		for _, et := range EnvTypes() {
			got := TestKey(r, et)
			if et == Protected && got != (Rights{}) || et != Protected && got != r {
				t.Errorf("%s on %s: %s", letters(r), et, letters(got))
			}
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	s := randomScene(rand.New(rand.NewPCG(7, 8)))
	b.ReportAllocs()
	for b.Loop() {
		Resolve(s.subject, s.overrides, s.defaults)
	}
}
