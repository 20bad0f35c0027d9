import org.deeplearning4j.nn.conf.BackpropType;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.NoOp;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** The two networks: a perceptron, and an LSTM that labels each time step of a series. */
final class Models {
	static final int INPUTS = 24, HIDDEN = 64, CLASSES = 5, MOMENTS = 20;

	private final long seed;
	private final WorkspaceMode workspaces;
	private final String updater;

	Models(long seed, WorkspaceMode workspaces, String updater) {
		this.seed = seed;
		this.workspaces = workspaces;
		this.updater = updater;
	}

	private static IUpdater updaterOf(String name) {
		switch (name) {
		case "mixed":
		case "adam":
			return new Adam(1e-3);
		case "nesterovs":
			return new Nesterovs(1e-2);
		case "sgd":
			return new Sgd(1e-2);
		case "none":
			return new NoOp();
		default:
			throw new IllegalArgumentException("no such updater: " + name);
		}
	}

	private NeuralNetConfiguration.ListBuilder common() {
		return new NeuralNetConfiguration.Builder().seed(seed).updater(updaterOf(updater))
			.activation(Activation.TANH).trainingWorkspaceMode(workspaces)
			.inferenceWorkspaceMode(workspaces).list();
	}

	/** The last layer's updater: with "mixed", another than the others'. */
	private IUpdater lastUpdater() {
		return updaterOf(updater.equals("mixed") ? "sgd" : updater);
	}

	MultiLayerNetwork perceptron() {
		MultiLayerConfiguration configuration = common()
			.layer(new DenseLayer.Builder().nIn(INPUTS).nOut(HIDDEN).build())
			.layer(new DenseLayer.Builder().nIn(HIDDEN).nOut(HIDDEN).build())
			.layer(new OutputLayer.Builder(LossFunction.MCXENT).nIn(HIDDEN)
				.nOut(CLASSES).activation(Activation.SOFTMAX)
				.updater(lastUpdater()).build())
			.build();
		return started(configuration);
	}

	MultiLayerNetwork recurrent() {
		MultiLayerConfiguration configuration = common()
			.layer(new LSTM.Builder().nIn(INPUTS).nOut(HIDDEN).build())
			.layer(new RnnOutputLayer.Builder(LossFunction.MCXENT).nIn(HIDDEN)
				.nOut(CLASSES).activation(Activation.SOFTMAX)
				.updater(lastUpdater()).build())
			.setInputType(InputType.recurrent(INPUTS))
			.backpropType(BackpropType.Standard).build();
		return started(configuration);
	}

	private static MultiLayerNetwork started(MultiLayerConfiguration configuration) {
		MultiLayerNetwork network = new MultiLayerNetwork(configuration);
		network.init();
		return network;
	}
}
