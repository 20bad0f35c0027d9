/** A class that Storm defines repeatedly, with another number each time: 0000 is replaced everywhere. */
final class Made0000 {
	static volatile Object garbage;

	static int inner0000(int bytes, int collect) {
		garbage = new byte[bytes];
		if (collect > 0)
			System.gc(); // mark: made
		return bytes;
	}

	public static int work0000(int rounds, int bytes, int collect) {
		int sum = 0;
		for (int i = 0; i < rounds; i++)
			sum += inner0000(bytes, i == rounds - 1 ? collect : 0); // mark: work
		return sum;
	}
}
