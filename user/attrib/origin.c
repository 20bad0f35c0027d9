/* A frame in; whose code it is out. The rules: docs/steps.md, "Triggers". */
#include <string.h>

#include "cleanup.h"
#include "origin.h"

static bool starts_with_any(const char *text, const char *const *prefixes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strncmp(text, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* By the package; a class without one is the user's. */
static enum origin java_origin(const char *function)
{
	static const char *const jdk[] = {"java.", "javax.", "jdk.", "sun.", "com.sun."};
	/* Under a framework's name, but what a user runs and changes. */
	static const char *const examples[] = {"org.apache.spark.examples.",
		"org.deeplearning4j.examples.", "org.nd4j.examples.", "hex.examples."};
	static const char *const frameworks[] = {"org.nd4j.", "org.deeplearning4j.", "org.datavec.",
		"org.bytedeco.", "org.apache.", "hex.", "water.", "ai.h2o.", "ml.dmlc.",
		"com.microsoft.azure.synapse.", "org.tensorflow.", "ai.djl.", "ai.onnxruntime.",
		"org.pytorch.", "smile.", "scala.", "kotlin.", "kotlinx.", "clojure.", "groovy.",
		"io.netty.", "io.grpc.", "com.google.common.", "com.google.protobuf.",
		"com.fasterxml.", "com.esotericsoftware.", "org.codehaus.", "org.eclipse.",
		"org.springframework.", "org.slf4j.", "ch.qos.logback.", "it.unimi.dsi.",
		"net.jpountz.", "com.github.luben.", "org.xerial.", "breeze.", "akka.", "reactor.",
		"org.junit.", "org.gradle."};

	if (starts_with_any(function, jdk, ARRAY_SIZE(jdk)))
		return ORIGIN_RUNTIME;
	if (starts_with_any(function, examples, ARRAY_SIZE(examples)))
		return ORIGIN_USER;
	return starts_with_any(function, frameworks, ARRAY_SIZE(frameworks)) ? ORIGIN_FRAMEWORK
									     : ORIGIN_USER;
}

/* By where the file lies: the standard library, installed packages, frozen modules are not the
 * user's. */
static enum origin file_origin(const char *file)
{
	static const char *const parts[] = {
		"/site-packages/", "/dist-packages/", "/lib/python2", "/lib/python3"};

	if (!*file || *file == '<')
		return ORIGIN_RUNTIME;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strstr(file, parts[i]))
			return ORIGIN_RUNTIME;
	return ORIGIN_USER;
}

enum origin frame_origin(const struct stack_table *stacks, uint32_t index)
{
	const struct frame *frame = &stacks->frames[index];

	if (frame->lang == LANG_MARK || frame->lang == LANG_NATIVE)
		return ORIGIN_RUNTIME;
	if (frame->lang == LANG_JAVA)
		return java_origin(strtab_get(stacks->strings, frame->function));
	return file_origin(strtab_get(stacks->strings, frame->file));
}
