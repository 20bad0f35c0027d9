import static io.netty.handler.codec.http.HttpHeaderNames.CONTENT_LENGTH;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpVersion;
import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicInteger;

/** Netty with the JDK's channels, or with its own calls of epoll: argument nio or epoll. */
public final class Netty {
	static final AtomicInteger accesses = new AtomicInteger();

	static final class Handler extends SimpleChannelInboundHandler<FullHttpRequest> {
		@Override
		protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
			byte[] body = Answers.answer(request.uri());
			FullHttpResponse response = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1,
					HttpResponseStatus.OK, Unpooled.wrappedBuffer(body));

			response.headers().set(CONTENT_LENGTH, body.length);
			accesses.incrementAndGet();
			context.writeAndFlush(response);
		}
	}

	static final class Connected extends ChannelInitializer<Channel> {
		@Override
		protected void initChannel(Channel channel) {
			channel.pipeline().addLast(new HttpServerCodec(), new HttpObjectAggregator(65536), new Handler());
		}
	}

	public static void main(String[] args) throws Exception {
		boolean epoll = args[0].equals("epoll");
		EventLoopGroup group = epoll ? new EpollEventLoopGroup(3) : new NioEventLoopGroup(3);
		Channel channel = new ServerBootstrap().group(group)
				.channel(epoll ? EpollServerSocketChannel.class : NioServerSocketChannel.class)
				.childHandler(new Connected()).bind("127.0.0.1", 0).sync().channel();

		Answers.say(((InetSocketAddress) channel.localAddress()).getPort(), accesses::get);
	}
}
