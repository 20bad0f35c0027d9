import java.util.HashMap;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.api.memory.MemoryManager;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Trains a small network with DL4J on synthetic data: what its settings of memory do to pauses and
 * steps can be seen from outside. The settings that the JVM takes (heap, collector,
 * -Dmemorymanager=PeriodicManager) are its own options.
 */
public final class Train {
	private static final String[] USAGE = {
		"usage: java … Train [option value]...",
		"  --model mlp|lstm        the network (mlp)",
		"  --updater NAME          adam, nesterovs, sgd, none; mixed: adam and sgd (adam)",
		"  --steps N               to train for (1009)",
		"  --calls N               end once PeriodicManager has called System.gc() so often",
		"  --batch N               examples a step (32)",
		"  --workspaces on|off     WorkspaceMode ENABLED or NONE (on)",
		"  --window MS             setAutoGcWindow(MS); left alone without",
		"  --periodic true|false   togglePeriodicGc(); left alone without",
		"  --epoch N               steps between two evaluations; without, there is none",
		"  --seed N                of everything random (23)",
		"  --truth FILE            write what really happened there",
		"  --wait yes|no           say READY, wait for a line before training begins (no)",
	};

	private final Map<String, String> given = new HashMap<>();

	private Train(String[] arguments) {
		for (int i = 0; i < arguments.length; i += 2) {
			String name = arguments[i];
			boolean known = false;
			for (String line : USAGE)
				known |= line.startsWith("  " + name + " ");
			if (!known || i + 1 == arguments.length)
				throw new IllegalArgumentException(name);
			given.put(name, arguments[i + 1]);
		}
	}

	private int number(String name, int otherwise) {
		return Integer.parseInt(given.getOrDefault(name, Integer.toString(otherwise)));
	}

	private boolean is(String name, String value, String otherwise) {
		return given.getOrDefault(name, otherwise).equals(value);
	}

	private void configureMemory(MemoryManager manager) {
		if (given.containsKey("--window"))
			manager.setAutoGcWindow(number("--window", 0));
		if (given.containsKey("--periodic"))
			manager.togglePeriodicGc(is("--periodic", "true", ""));
	}

	private MultiLayerNetwork network(int seed) {
		WorkspaceMode mode = is("--workspaces", "on", "on") ? WorkspaceMode.ENABLED
								     : WorkspaceMode.NONE;
		Models models = new Models(seed, mode, given.getOrDefault("--updater", "adam"));
		return is("--model", "lstm", "mlp") ? models.recurrent() : models.perceptron();
	}

	private void run() throws Exception {
		int steps = number("--steps", 1009), batch = number("--batch", 32);
		int seed = number("--seed", 23), epoch = number("--epoch", steps);
		int moments = is("--model", "lstm", "mlp") ? Models.MOMENTS : 0;
		MemoryManager manager = Nd4j.getMemoryManager();
		configureMemory(manager);
		MultiLayerNetwork network = network(seed);
		Truth truth = new Truth(steps);
		if (is("--wait", "yes", "no"))
			truth.waitForTracer();
		truth.start();
		if (manager instanceof PeriodicManager)
			((PeriodicManager) manager).training = true;
		int calls = number("--calls", Integer.MAX_VALUE);
		BooleanSupplier enough = () -> manager instanceof PeriodicManager
			&& ((PeriodicManager) manager).calls >= calls;
		network.setListeners(truth);
		for (int done = 0; done < steps; done += epoch) {
			int now = Math.min(epoch, steps - done);
			network.fit(new Batches(seed + done, batch, moments, now).until(enough));
			if (done + now < steps)
				truth.phase("evaluation", () -> network.evaluate(
					new Batches(seed - 1, batch, moments, epoch / 2)));
		}
		truth.books("end");
		if (given.containsKey("--truth"))
			truth.write(given.get("--truth"), manager instanceof PeriodicManager
				? (PeriodicManager) manager : null);
		System.out.printf("%d steps; loss %.4f; %s, periodic %s, window %d ms%n",
			truth.steps(), network.score(), manager.getClass().getSimpleName(),
			manager.isPeriodicGcActive(), manager.getAutoGcWindow());
	}

	public static void main(String[] arguments) throws Exception {
		Train train;
		try {
			train = new Train(arguments);
		} catch (IllegalArgumentException e) {
			System.err.println("Train: not an option with a value: " + e.getMessage());
			for (String line : USAGE)
				System.err.println(line);
			System.exit(2);
			return;
		}
		train.run();
		System.exit(0); // ND4J's threads are daemons, but its async readers need not be
	}
}
