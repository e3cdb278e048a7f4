package journal

// Size is what is kept, in bytes, on disk and in memory.
func (j *Journal) Size() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	var all int64
	for _, s := range j.kept {
		all += s.size
	}
	return all
}
