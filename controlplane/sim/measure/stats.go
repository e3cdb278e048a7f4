package measure

import "math"

// Mean is the mean of values, one of each seed, and half of its 95 % interval by Student's t;
// NaN where one value tells nothing of the spread.
func Mean(values []float64) (mean, half float64) {
	n := float64(len(values))
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	for _, v := range values {
		mean += v
	}
	mean /= n
	if n == 1 {
		return mean, math.NaN()
	}
	var squares float64
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return mean, student(len(values)-1) * math.Sqrt(squares/(n-1)/n)
}

// Paired is how many times b the values of a are, of the same seeds in the same order: the
// geometric mean of their ratios, with the 95 % interval by Student's t of the ratios'
// logarithms. So what a seed does to both cancels. Where a value is not above 0, it is the
// ratio of the means, without an interval; NaN where there is nothing to compare with.
func Paired(a, b []float64) (ratio, low, high float64) {
	logs := make([]float64, 0, len(a))
	for i := range min(len(a), len(b)) {
		if !(a[i] > 0 && b[i] > 0) {
			return ofMeans(a, b), math.NaN(), math.NaN()
		}
		logs = append(logs, math.Log(a[i]/b[i]))
	}
	mean, half := Mean(logs)
	return math.Exp(mean), math.Exp(mean - half), math.Exp(mean + half)
}

func ofMeans(a, b []float64) float64 {
	of, to := 0.0, 0.0
	for _, v := range a {
		of += v
	}
	for _, v := range b {
		to += v
	}
	switch {
	case to != 0:
		return of / to * float64(len(b)) / float64(len(a))
	case of == 0:
		return math.NaN()
	}
	return math.Inf(1)
}

// jain is Jain's index of fairness: 1 where all have the same, 1/n where one of n has all.
func jain(values []float64) float64 {
	var sum, squares float64
	for _, v := range values {
		sum += v
		squares += v * v
	}
	if squares == 0 {
		return 1 // nobody has anything
	}
	return sum * sum / (float64(len(values)) * squares)
}

// The 97.5th percentiles of Student's t for 1 to 30 degrees of freedom, and for 40, 60, 120
// and without bound.
var (
	students = [...]float64{
		12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
		2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
		2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
	}
	farStudents = [...]struct{ freedom, t float64 }{{30, 2.0423}, {40, 2.0211}, {60, 2.0003}, {120, 1.9799}, {math.Inf(1), 1.9600}}
)

// student is exact to 30 degrees of freedom, and within 0.0005 beyond: linear in their inverse.
func student(freedom int) float64 {
	if freedom <= len(students) {
		return students[freedom-1]
	}
	n := float64(freedom)
	for i, to := range farStudents[1:] {
		if from := farStudents[i]; n <= to.freedom {
			part := (1/from.freedom - 1/n) / (1/from.freedom - 1/to.freedom)
			return from.t + part*(to.t-from.t)
		}
	}
	return farStudents[len(farStudents)-1].t
}
