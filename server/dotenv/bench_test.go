package dotenv

import (
	"fmt"
	"testing"
)

// pullOf50 is what a vault of usual content holds.
func pullOf50() (keys, values []string) {
	kinds := []string{
		"https://api.example.com/v1", "postgres://app:s3cr3t@db.internal:5432/app?sslmode=require&pool=10",
		"Yq8vN3xKp0aR7tWm2cLz5dJf", "two words here", `{"a":1,"b":"x y"}`, "", "naïve 日本", "true",
		"$2a$10$N9qo8uLOickgx2ZMRZoMye", "line one\nline two\n",
	}
	for i := range 50 {
		keys = append(keys, fmt.Sprintf("SERVICE_KEY_%02d", i))
		values = append(values, kinds[i%len(kinds)])
	}
	return keys, values
}

func BenchmarkAppend50(b *testing.B) {
	keys, values := pullOf50()
	dst := make([]byte, 0, 8192)
	b.ReportAllocs()
	for b.Loop() {
		dst = dst[:0]
		for i, key := range keys {
			dst = append(Append(dst, key, values[i]), '\n')
		}
	}
}

func BenchmarkAppend50Bytes(b *testing.B) {
	keys, values := pullOf50()
	var raw [][]byte
	for _, v := range values {
		raw = append(raw, []byte(v))
	}
	dst := make([]byte, 0, 8192)
	b.ReportAllocs()
	for b.Loop() {
		dst = dst[:0]
		for i, key := range keys {
			dst = append(Append(dst, key, raw[i]), '\n')
		}
	}
}

func BenchmarkGuard(b *testing.B) {
	_, values := pullOf50()
	b.ReportAllocs()
	for b.Loop() {
		for i, v := range values {
			SameAfterRoundTrip(v, values[(i+1)%len(values)])
		}
	}
}

func BenchmarkParse50(b *testing.B) {
	keys, values := pullOf50()
	m := make(map[string]string)
	for i, key := range keys {
		m[key] = values[i]
	}
	file := []byte(Write(Entries(m)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(file); err != nil {
			b.Fatal(err)
		}
	}
}
