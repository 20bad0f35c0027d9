import java.util.List;
import java.util.Random;
import java.util.function.BooleanSupplier;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.api.DataSetPreProcessor;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;
import org.nd4j.linalg.factory.Nd4j;

/** Synthetic batches, each made on demand, as a record reader does. */
@SuppressWarnings("serial") // never serialized
class Batches implements DataSetIterator {
	private final Random random;
	private final int size, count, moments;
	private BooleanSupplier enough = () -> false;
	private int made;

	/** @moments is 0 for batches without a time axis. */
	Batches(long seed, int size, int moments, int count) {
		random = new Random(seed);
		this.size = size;
		this.moments = moments;
		this.count = count;
	}

	/** There are no more once @enough returns true. */
	Batches until(BooleanSupplier enough) {
		this.enough = enough;
		return this;
	}

	@Override
	public DataSet next(int wanted) {
		made++;
		return moments > 0 ? series(wanted) : points(wanted);
	}

	private DataSet points(int wanted) {
		float[][] features = new float[wanted][Models.INPUTS];
		float[][] labels = new float[wanted][Models.CLASSES];
		for (int i = 0; i < wanted; i++) {
			fill(features[i]);
			labels[i][label(features[i][0])] = 1;
		}
		return new DataSet(Nd4j.create(features), Nd4j.create(labels));
	}

	private DataSet series(int wanted) {
		float[][][] features = new float[wanted][Models.INPUTS][moments];
		float[][][] labels = new float[wanted][Models.CLASSES][moments];
		for (int i = 0; i < wanted; i++) {
			for (float[] row : features[i])
				fill(row);
			float sum = 0;
			for (int t = 0; t < moments; t++) {
				sum += features[i][0][t] / moments;
				labels[i][label(sum)][t] = 1;
			}
		}
		INDArray in = Nd4j.create(features), out = Nd4j.create(labels);
		return new DataSet(in, out);
	}

	private void fill(float[] row) {
		for (int i = 0; i < row.length; i++)
			row[i] = 2 * random.nextFloat() - 1;
	}

	private static int label(float value) {
		return Math.min(Models.CLASSES - 1, (int) ((value + 1) / 2 * Models.CLASSES));
	}

	@Override
	public DataSet next() {
		return next(size);
	}

	@Override
	public boolean hasNext() {
		return made < count && !enough.getAsBoolean();
	}

	@Override
	public int inputColumns() {
		return Models.INPUTS;
	}

	@Override
	public int totalOutcomes() {
		return Models.CLASSES;
	}

	@Override
	public boolean resetSupported() {
		return true;
	}

	@Override
	public boolean asyncSupported() {
		return true;
	}

	/** The next pass uses other batches. */
	@Override
	public void reset() {
		made = 0;
	}

	@Override
	public int batch() {
		return size;
	}

	@Override
	public void setPreProcessor(DataSetPreProcessor preProcessor) {
		throw new UnsupportedOperationException("batches are made when asked for");
	}

	@Override
	public DataSetPreProcessor getPreProcessor() {
		return null;
	}

	@Override
	public List<String> getLabels() {
		return null;
	}
}
