package web

import (
	"testing"
	"time"
)

func TestPeopleReadHowLongAgoItWas(t *testing.T) {
	for since, want := range map[time.Duration]string{
		-time.Minute: "less than a minute ago", 59 * time.Second: "less than a minute ago", time.Minute: "a minute ago",
		2*time.Minute - 1: "a minute ago", 14*time.Minute + 59*time.Second: "14 minutes ago",
	} {
		if got := ago(someDay.Add(since), someDay); got != want {
			t.Errorf("%s: %s", since, got)
		}
	}
}

func TestPeopleReadAboutHowLongAgoItWas(t *testing.T) {
	for passed, want := range map[time.Duration]string{
		-time.Hour: "just now", time.Minute: "a minute ago", 59 * time.Minute: "59 minutes ago", time.Hour: "an hour ago", 2*time.Hour - 1: "an hour ago",
		2 * time.Hour: "2 hours ago", 24*time.Hour - 1: "23 hours ago", 24 * time.Hour: "yesterday", 48 * time.Hour: "2 days ago",
		59 * 24 * time.Hour: "59 days ago", 60 * 24 * time.Hour: "on 21 September 2026",
	} {
		if got := since(someDay, someDay.Add(-passed)); got != want {
			t.Errorf("%s: %s, want %s", passed, got, want)
		}
	}
}
