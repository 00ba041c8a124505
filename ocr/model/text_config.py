"""Configures the language model: its sizes, and how attention and experts are computed. Torch-free."""

from dataclasses import dataclass, field


@dataclass(kw_only=True)
class TextConfig:
    """Sizes, named as in ocr.model.deepseek_ocr.LanguageConfig, and the choice of attention and experts.

    _attn_implementation, _experts_implementation: keys of ocr.model.text_attention.ATTENTION and of
        ocr.model.experts.EXPERTS. They are changed in place for the duration of a step
        (ocr.decoding.gpu.forward.paged_attention), under transformers' names.
    """

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    max_position_embeddings: int
    rms_norm_eps: float
    rope_theta: float
    tie_word_embeddings: bool
    first_k_dense_replace: int
    n_routed_experts: int
    n_shared_experts: int
    num_experts_per_tok: int
    moe_intermediate_size: int
    topk_method: str
    n_group: int
    topk_group: int
    routed_scaling_factor: float
    bos_token_id: int
    eos_token_id: int
    _attn_implementation: str = field(default="sdpa", init=False)
    _experts_implementation: str = field(default="grouped_mm", init=False)

    @property
    def head_dim(self) -> int:
        """The width of an attention head."""
        return self.hidden_size // self.num_attention_heads

    @property
    def num_experts(self) -> int:
        """The number of routed experts of a layer."""
        return self.n_routed_experts
