import java.lang.reflect.Method;

/** Checks whether the JVM has each method named as class.method, prints "missing NAME" if not, and ends. */
final class Exists {
	private static boolean has(String name) {
		int dot = name.lastIndexOf('.');
		String method = name.substring(dot + 1);
		try {
			Class<?> type = Class.forName(name.substring(0, dot), false, null);
			if (method.equals("<init>") || method.equals("<clinit>"))
				return true;
			for (Method declared : type.getDeclaredMethods())
				if (declared.getName().equals(method))
					return true;
			return false;
		} catch (ClassNotFoundException e) {
			return false;
		}
	}

	public static void main(String[] names) {
		for (String name : names)
			if (!has(name))
				System.out.println("missing " + name);
		System.out.println("looked at " + names.length);
	}
}
