package crypto

import "testing"

func BenchmarkSeal100(b *testing.B) {
	k := testDataKey(1)
	plain, context := make([]byte, 100), NewestContext(id(1), id(2), id(3), 4, "KEY")
	dst := make([]byte, 0, 200)
	b.ReportAllocs()
	for b.Loop() {
		k.Seal(dst, plain, context)
	}
}

func BenchmarkOpen100(b *testing.B) {
	k := testDataKey(1)
	context := NewestContext(id(1), id(2), id(3), 4, "KEY")
	sealed := k.Seal(nil, make([]byte, 100), context)
	dst := make([]byte, 0, 200)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := k.Open(dst, sealed, context); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen100Parallel(b *testing.B) {
	k := testDataKey(1)
	context := NewestContext(id(1), id(2), id(3), 4, "KEY")
	sealed := k.Seal(nil, make([]byte, 100), context)
	b.RunParallel(func(pb *testing.PB) {
		dst := make([]byte, 0, 200)
		for pb.Next() {
			if _, err := k.Open(dst, sealed, context); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkNewDataKey(b *testing.B) {
	r := testRoot(b, 1)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := r.NewDataKey(id(1)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenDataKey(b *testing.B) {
	r := testRoot(b, 1)
	_, file, err := r.NewDataKey(id(1))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.OpenDataKey(id(1), file); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenRoot(b *testing.B) {
	m := mustMaster(b)
	r, file, err := NewRoot(m)
	if err != nil {
		b.Fatal(err)
	}
	r.Destroy()
	for b.Loop() {
		r, err := m.OpenRoot(file)
		if err != nil {
			b.Fatal(err)
		}
		r.Destroy()
	}
}

func BenchmarkUnwrapIdentity(b *testing.B) {
	m, i := mustMaster(b), mustIdentity(b)
	file, err := WrapIdentity(m, i.Recipient())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := UnwrapIdentity(file, i); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerifyToken(b *testing.B) {
	s := testSigner(b, "coffer-1", 1)
	token, err := s.Sign(issuer, testClaims())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Verify(issuer, token, noon); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNewAPIKey(b *testing.B) {
	for b.Loop() {
		if _, err := NewAPIKey("live"); err != nil {
			b.Fatal(err)
		}
	}
}
