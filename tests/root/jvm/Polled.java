import java.util.concurrent.locks.LockSupport;

/**
 * A thread "polled-loop" that never leaves a loop with a poll for safepoints: it comes to one as soon as it runs.
 * The main thread asks for --rounds collections, --rest-ms after each. As with Loop --hold 1, a round is done twice.
 */
final class Polled {
	private static volatile boolean running;
	private static volatile int result;

	private static void loop() {
		int x = 1;
		while (running) // mark: polled-loop
			x = x * 31 + (x >>> 7);
		result = x;
	}

	public static void main(String[] args) throws Exception {
		Talk talk = new Talk(args);
		int rounds = talk.number("rounds", 53);
		int restMs = talk.number("rest-ms", 7);
		while (talk.go()) {
			running = true;
			Thread thread = new Thread(Polled::loop, "polled-loop");
			thread.start();
			talk.go();
			for (int i = 0; i < rounds; i++) {
				LockSupport.parkNanos(restMs * 1000000L);
				System.gc(); // mark: polled-request
			}
			running = false;
			thread.join();
			talk.tell(new StringBuilder());
		}
	}
}
