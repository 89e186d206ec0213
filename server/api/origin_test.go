package api

import "testing"

func TestAnOriginHasOneSpelling(t *testing.T) {
	for address, want := range map[string]string{
		"https://App.Example:443/page?x": "https://app.example", "http://app.example:80": "http://app.example", "HTTPS://app.example": "https://app.example",
		"https://app.example:80": "https://app.example:80", "http://[::1]:2633/": "http://[::1]:2633", "/page": "", "%": "", "": "",
	} {
		if got := Origin(address); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}

func TestWhereABrowserIsLed(t *testing.T) {
	ours := []string{"https://app.example", "http://127.0.0.1:2633"}
	for address, want := range map[string]bool{
		"https://app.example": true, "https://APP.example:443/a?b#c": true, "http://127.0.0.1:2633/": true,
		"https://app.example:444": false, "http://app.example": false, "https://app.example.evil.example": false, "https://evil.example/https://app.example": false,
		"https://app.example@evil.example": false, "https://u@app.example": false, `https://evil.example\@app.example`: false, `https://app.example/\x`: false,
		"https://app.example/\n": false, "//app.example": false, "/page": false, "": false,
	} {
		if got := LeadsTo(address, ours); got != want {
			t.Errorf("%q: %t", address, got)
		}
	}
}
