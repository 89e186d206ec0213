package server

import (
	"context"

	"coffer/server/metrics"
)

// writeRotations tells how far the replacement of keys is, when any is under way.
func (s *Server) writeRotations(ctx context.Context, t *metrics.Text) {
	underWay, done, total, err := s.warden.RotationCounts(ctx)
	if err != nil {
		return
	}
	t.One("coffer_rotations_under_way", metrics.Gauge, "Replacements of keys that are not done yet.", float64(underWay))
	t.One("coffer_rotation_done", metrics.Gauge, "How much of the first of them is done.", float64(done))
	t.One("coffer_rotation_total", metrics.Gauge, "How much of the first of them there is to do.", float64(total))
}
