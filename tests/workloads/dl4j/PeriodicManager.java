import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.concurrent.locks.LockSupport;
import org.nd4j.linalg.cpu.nativecpu.CpuMemoryManager;

/**
 * ND4J's memory manager for the CPU as its documentation describes it: it asks for a collection each time
 * that the window of setAutoGcWindow() is over. The one that M2.1 comes with never does, as its
 * isPeriodicGcActive() is false whatever was set. Made the process's own by
 * -Dmemorymanager=PeriodicManager; keeps the times of its calls. With -Dperiod=MS they come that far
 * apart, as long as window, collection and whatever else that thread does take less together.
 */
public class PeriodicManager extends CpuMemoryManager {
	private static final int MOST = 8192;
	private static final long PERIOD_NS = 1000000 * Long.getLong("period", 0);

	final long[] begin = new long[MOST];
	final long[] end = new long[MOST];
	volatile int calls;
	volatile boolean training; // no call before: a tracer may just be attaching
	volatile long tid;
	volatile String thread;
	private long due;

	@Override
	public boolean isPeriodicGcActive() {
		return training && periodicEnabled.get();
	}

	/** Waits for the end of the period that the last call began. */
	private void pace() {
		long now = System.nanoTime();
		while (calls > 0 && now < due) {
			LockSupport.parkNanos(due - now);
			now = System.nanoTime();
		}
		due = now + PERIOD_NS;
	}

	/** Called by one of ND4J's threads, DeallocatorServiceThread_0. */
	@Override
	public void invokeGc() {
		if (thread == null) {
			tid = nativeThread();
			thread = Thread.currentThread().getName();
		}
		if (PERIOD_NS > 0)
			pace();
		long before = System.nanoTime();
		super.invokeGc();
		int call = calls;
		if (call < MOST) {
			begin[call] = before;
			end[call] = System.nanoTime();
			calls = call + 1;
		}
	}

	/** The kernel's number of the calling thread; 0 where /proc does not show it. */
	static long nativeThread() {
		try {
			return Long.parseLong(Files.readSymbolicLink(Paths.get("/proc/thread-self"))
				.getFileName().toString());
		} catch (IOException | NumberFormatException e) {
			return 0;
		}
	}
}
