import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.Callback;

/** Jetty, with a request log that is counted. */
public final class Jetty {
	static final AtomicInteger handled = new AtomicInteger(), accesses = new AtomicInteger();

	static final class Answering extends Handler.Abstract {
		@Override
		public boolean handle(Request request, Response response, Callback callback) {
			byte[] body = Answers.answer(Request.getPathInContext(request));

			handled.incrementAndGet();
			response.getHeaders().put(HttpHeader.CONTENT_LENGTH, body.length);
			response.write(true, ByteBuffer.wrap(body), callback);
			return true;
		}
	}

	/** It logs a request after its client has the response. */
	private static int logged() {
		while (accesses.get() < handled.get())
			Thread.onSpinWait();
		return accesses.get();
	}

	public static void main(String[] args) throws Exception {
		Server server = new Server(new InetSocketAddress("127.0.0.1", 0));

		server.setRequestLog((request, response) -> accesses.incrementAndGet());
		server.setHandler(new Answering());
		server.start();
		Answers.say(((ServerConnector) server.getConnectors()[0]).getLocalPort(), Jetty::logged);
	}
}
