package server

import (
	"context"

	"coffer/server/metrics"
)

// measureRotations tells how far the replacement of keys is, when any is under way.
func (s *Server) measureRotations(p *metrics.Page) {
	underWay, done, total, err := s.warden.RotationCounts(context.Background())
	if err != nil {
		return
	}
	p.Gauge("coffer_rotations_under_way", "Replacements of keys that are not done yet.", float64(underWay))
	p.Gauge("coffer_rotation_done", "How much of the first of them is done.", float64(done))
	p.Gauge("coffer_rotation_total", "How much of the first of them there is to do.", float64(total))
}
