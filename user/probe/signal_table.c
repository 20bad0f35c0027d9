/*
 * The table of framework signals. Each was seen to fire as said on the versions named, with probes
 * on its workload's own step timestamps, except NCCL's, which are by their signatures alone.
 */
#include <string.h>

#include "cleanup.h"
#include "signal_table.h"

/* at::_ops::NAME::call, the entry of every operator. */
#define TORCH_OP(length, name) {"_ZN2at4_ops" #length #name "4callE*", #name}

/* The same where it does not matter which of the signal's operators it is. */
#define TORCH_OP_OF(length, name) {"_ZN2at4_ops" #length #name "4callE*", NULL}

/* sd::ops::NAME_updater::validateAndExecute(sd::graph::Context &), what runs an updater. */
#define ND4J_UPDATER(length, name)                                                                 \
	{"_ZN2sd3ops" #length #name "_updater18validateAndExecuteE*", #name}

const struct signal_entry signal_table[] = {
	/*
	 * PyTorch 2.15: record_function(name) of Optimizer.step, zero_grad and the DataLoader's
	 * next, once each. rdi is where the result goes. 1.13 has it but never calls it, …
	 */
	{"torch:record", "libtorch_cpu", NULL, 0, GC_KEY_TEXT, 2, 0,
		{{"_ZN5torch8autograd8profiler25record_function_enter_newE*", NULL}}},
	/*
	 * … there the operator's arguments are seen: ConstantString::create(std::string), the string
	 * by the address of a copy, makes the name an argument of it.
	 */
	{"torch:record", "libtorch_cpu", NULL, 0, GC_KEY_HINT, 2, 0,
		{{"_ZN3c106ivalue14ConstantString6createENSt7__cxx1112basic_stringIcSt11char_traitsIcE"
		  "SaIcEEE",
			NULL}}},
	/*
	 * PyTorch 1.13, 2.15: once per backward pass, never in evaluation. Engine::execute(const edge_list &roots, …): an edge
	 * begins with the function that it comes from, and the class of that is the last operation of what is differentiated:
	 * losses that are computed in different ways, as those of an actor and of a critic, mostly differ in it.
	 */
	{"torch:backward", "libtorch_cpu", "torch:record", 900, GC_KEY_CLASS, 3, 0,
		{{"_ZN5torch8autograd6Engine7executeE*", NULL}}},
	/*
	 * PyTorch 1.13, 2.15: once per forward pass, in evaluation too, which no other signal shows;
	 * cross_entropy_loss calls nll_loss_nd.
	 */
	{"torch:loss", "libtorch_cpu", NULL, 0, GC_KEY_NONE, 0, 0,
		{TORCH_OP(18, cross_entropy_loss), TORCH_OP(8, mse_loss), TORCH_OP(11, nll_loss_nd),
			TORCH_OP(20, binary_cross_entropy),
			TORCH_OP(32, binary_cross_entropy_with_logits), TORCH_OP(7, l1_loss),
			TORCH_OP(14, smooth_l1_loss), TORCH_OP(10, huber_loss),
			TORCH_OP(6, kl_div)},
		.thinned = true},
	/*
	 * PyTorch 1.13: the tensor (argument: its address, or that of a list) that is written to first once an optimizer's step
	 * has begun: a parameter, or what the optimizer keeps of it. Optimizers that are alike by their name differ in it. On
	 * a processor an optimizer calls one of these for each parameter; the fused ones of 2.x are by their signatures alone.
	 */
	{"torch:learner", "libtorch_cpu", NULL, 0, GC_KEY_OBJECT, 1, 0,
		{TORCH_OP_OF(11, add__Tensor), TORCH_OP_OF(8, addcmul_),
			TORCH_OP_OF(18, _foreach_add__List), TORCH_OP_OF(20, _foreach_add__Scalar),
			TORCH_OP_OF(20, _foreach_add__Tensor),
			TORCH_OP_OF(24, _foreach_addcmul__Scalar), TORCH_OP_OF(12, _fused_adam_),
			TORCH_OP_OF(13, _fused_adamw_), TORCH_OP_OF(11, _fused_sgd_)}},
	/* PyTorch 1.13: once per bucket of gradients under DistributedDataParallel with gloo. */
	{"torch:allreduce", "libtorch_cpu", NULL, 0, GC_KEY_NONE, 0, 0,
		{{"_ZN4c10d16ProcessGroupGloo9allreduceE*", NULL}}},
	/*
	 * jaxlib 0.4.38 – 0.12: every call of a jitted function. PjitFunctionObject is the object's
	 * head, its vectorcall, and the function, which begins with its name.
	 */
	{"jax:pjit", "libjax_common xla_extension", NULL, 0, GC_KEY_TEXT, 1, 24,
		{{"PjitFunction_tp_vectorcall", NULL}}},
	/* jaxlib 0.4.38 – 0.12: every execution. rdi is where the result goes, rsi this, then a span of inputs. */
	{"jax:execute", "libjax_common xla_extension", NULL, 0, GC_KEY_NUMBER, 4, 0,
		{{"_ZN3xla4ifrt20PjRtLoadedExecutable7ExecuteE*", NULL}}},
	/*
	 * TensorFlow 2.21: every call of a tf.function, and of few operations else: (context, device, name, inputs, …), which are those
	 * that it was given and the variables that it uses. Keras calls one a step, or one for several (steps_per_execution).
	 */
	{"tensorflow:execute", "lib_pywrap_tensorflow_common", NULL, 0, GC_KEY_SIZE, 4, 0,
		{{"_Z24TFE_Py_ExecuteCancelableP11TFE_ContextPKcS2_*", NULL}}},
	/* XGBoost 3.4, LightGBM 4.7: once per boosting iteration of the booster whose handle is the first argument. */
	{"xgboost:update", "libxgboost", NULL, 0, GC_KEY_NUMBER, 1, 0,
		{{"XGBoosterUpdateOneIter", NULL}, {"XGBoosterTrainOneIter", NULL},
			{"XGBoosterBoostOneIter", NULL}}},
	{"lightgbm:update", "lib_lightgbm", NULL, 0, GC_KEY_NUMBER, 1, 0,
		{{"LGBM_BoosterUpdateOneIter", NULL}, {"LGBM_BoosterUpdateOneIterCustom", NULL}}},
	/*
	 * ND4J 1.0.0-M2.1: each updater once per training step (SameDiff: once per variable), never in
	 * evaluation, …
	 */
	{"dl4j:update", "libnd4jcpu libnd4jcuda", NULL, 0, GC_KEY_NONE, 0, 0,
		{ND4J_UPDATER(11, sgd), ND4J_UPDATER(12, adam), ND4J_UPDATER(13, nadam),
			ND4J_UPDATER(15, ada_max), ND4J_UPDATER(16, ada_grad),
			ND4J_UPDATER(16, ams_grad), ND4J_UPDATER(16, rms_prop),
			ND4J_UPDATER(17, ada_delta), ND4J_UPDATER(17, adabelief),
			ND4J_UPDATER(17, nesterovs)}},
	/* … and the loss before them: once per output of the network, in score() too, not in SameDiff. */
	{"dl4j:loss", "libnd4jcpu libnd4jcuda", NULL, 0, GC_KEY_NONE, 0, 0,
		{{"execReduceSame", NULL}}, .thinned = true},
	/* NCCL, not run here: (send, receive, count, …). */
	{"nccl:allreduce", "libnccl", NULL, 0, GC_KEY_NUMBER, 3, 0, {{"ncclAllReduce", NULL}}},
	{"nccl:allgather", "libnccl", NULL, 0, GC_KEY_NUMBER, 3, 0, {{"ncclAllGather", NULL}}},
	{"nccl:reducescatter", "libnccl", NULL, 0, GC_KEY_NUMBER, 3, 0,
		{{"ncclReduceScatter", NULL}}},
	/*
	 * NVTX 3.0 – 3.2 (PyPI's nvtx 0.2 and libnvtx3interop 12.9), whose functions are in tables that the shim fills: once for each
	 * range and mark, by its name.
	 */
	{"nvtx", "libgctrace_cupti", NULL, 0, GC_KEY_TEXT, 1, 0, .provider = "gctrace",
		.probe = "nvtx"},
	/*
	 * CUDA's driver, on a mock and by the signatures, not on a device. Launches of graphs, each known by its handle: a
	 * step that was captured calls nothing else. Reads of the device's memory, by their size, and waits for it.
	 */
	{"cuda:graph", "libcuda.so", NULL, 0, GC_KEY_NUMBER, 1, 0,
		{{"cuGraphLaunch", NULL}, {"cuGraphLaunch_ptsz", NULL}}},
	{"cuda:read", "libcuda.so", NULL, 0, GC_KEY_NUMBER, 3, 0,
		{{"cuMemcpyDtoH_v2", NULL}, {"cuMemcpyDtoH_v2_ptds", NULL},
			{"cuMemcpyDtoHAsync_v2", NULL}, {"cuMemcpyDtoHAsync_v2_ptsz", NULL}}},
	{"cuda:sync", "libcuda.so", NULL, 0, GC_KEY_NONE, 0, 0,
		{{"cuStreamSynchronize", "stream"}, {"cuStreamSynchronize_ptsz", "stream"},
			{"cuEventSynchronize", "event"}, {"cuCtxSynchronize", "context"},
			{"cuCtxSynchronize_v2", "context"}}},
	/* (order, transposed, transposed, m, n, k, …), under the names that NumPy's wheels give it. */
	{"blas:gemm", "libopenblas libscipy_openblas libblas libcblas", NULL, 0, GC_KEY_DIMS, 4, 0,
		{{"cblas_sgemm", NULL}, {"cblas_dgemm", NULL}, {"cblas_sgemm64_", NULL},
			{"cblas_dgemm64_", NULL}, {"scipy_cblas_sgemm", NULL},
			{"scipy_cblas_dgemm", NULL}, {"scipy_cblas_sgemm64_", NULL},
			{"scipy_cblas_dgemm64_", NULL}}},
	/*
	 * The same by Fortran's convention: (transposed, transposed, m, n, k, …), all by address. Julia 1.5 calls
	 * OpenBLAS like this for each product of matrices.
	 */
	{"blas:gemm", "libopenblas", NULL, 0, GC_KEY_DIMS_AT, 3, 0,
		{{"sgemm_64_", NULL}, {"dgemm_64_", NULL}}},
};

const size_t signal_table_count = ARRAY_SIZE(signal_table);

bool signal_table_has(const char *name)
{
	for (size_t i = 0; i < signal_table_count; i++) {
		size_t len = strlen(signal_table[i].name);

		if (!strncmp(name, signal_table[i].name, len) && (!name[len] || name[len] == ':'))
			return true;
	}
	return false;
}
