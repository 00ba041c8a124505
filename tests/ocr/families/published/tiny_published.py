"""Tiny random checkpoints of published document models, saved as they are published: config, weights, processor."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModelForImageTextToText, PreTrainedTokenizerFast

# Config, image processor, tokenizer, chat template, name of the processor's class.
Made = tuple[Any, Any, Any, str | None, str]
QWEN = (
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>",
    "<|video_pad|>",
)  # fmt: skip
QWEN_IMAGE = "<|vision_start|><|image_pad|><|vision_end|>"
TEXT: dict[str, Any] = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 300, "max_position_embeddings": 8192,
}  # fmt: skip
VISION: dict[str, Any] = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2, "patch_size": 14,
}  # fmt: skip
GLM_VISION: dict[str, Any] = {
    "depth": 2, "hidden_size": 32, "num_heads": 2, "image_size": 56, "patch_size": 14, "out_hidden_size": 32,
    "intermediate_size": 48,
}  # fmt: skip


def rope(*mrope: int, **more: Any) -> dict[str, Any]:
    return {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": list(mrope), **more}


# Qwen3.5's layers: every other one of linear attention.
LINEAR: dict[str, Any] = {
    **TEXT, "model_type": "qwen3_5_text", "head_dim": 16, "linear_key_head_dim": 8, "linear_value_head_dim": 8,
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "layer_types": ["linear_attention", "full_attention"],
    "rope_parameters": rope(1, 1, 0, partial_rotary_factor=0.25),
}  # fmt: skip


def tokenizer(
    specials: Sequence[str], roles: dict[str, str] | None = None, eos: str = "<|im_end|>", **named: str
) -> Any:
    """Byte-level BPE without merges: 256 bytes, then the special tokens."""
    raw = Tokenizer(
        models.BPE(
            vocab={sign: place for place, sign in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))},
            merges=[],
        )
    )
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    raw.add_special_tokens(list(specials))
    return PreTrainedTokenizerFast(
        tokenizer_object=raw,
        extra_special_tokens=roles or {},
        padding_side="left",
        eos_token=eos,
        **{"pad_token": "<|endoftext|>", **named},
    )


def template(image: str, start: str = "<|im_start|>", end: str = "<|im_end|>\n", prefix: str = "") -> str:
    return (
        f"{prefix}{{% for m in messages %}}{start}{{{{ m.role }}}}\n{{% for c in m.content %}}"
        f"{{% if c.type == 'image' %}}{image}{{% else %}}{{{{ c.text }}}}{{% endif %}}{{% endfor %}}{end}{{% endfor %}}"
        f"{{% if add_generation_prompt %}}{start}assistant\n{{% endif %}}"
    )


def paddleocr_vl() -> Made:
    marks = ("<|IMAGE_START|>", "<|IMAGE_END|>", "<|IMAGE_PLACEHOLDER|>")
    tok = tokenizer(["<|endoftext|>", "<|im_start|>", "<|im_end|>", *marks], roles={"image_token": marks[2]})
    start, end, image = tok.convert_tokens_to_ids(list(marks))
    config = transformers.PaddleOCRVLConfig(
        vision_config={**VISION, "image_size": 56},
        text_config={**TEXT, "head_dim": 16, "pad_token_id": 256, "rope_parameters": rope(2, 3, 3)},
        image_token_id=image,
        vision_start_token_id=start,
        vision_end_token_id=end,
        video_token_id=299,
    )
    pictures = transformers.PaddleOCRVLImageProcessorPil(size={"shortest_edge": 3136, "longest_edge": 15680})
    return config, pictures, tok, template("".join((marks[0], marks[2], marks[1]))), "PaddleOCRVLProcessor"


def glm_ocr() -> Made:
    marks = [
        "<|begin_of_image|>", "<|end_of_image|>", "<|image|>", "<|begin_of_video|>", "<|end_of_video|>", "<|video|>"
    ]  # fmt: skip
    tok = tokenizer(
        ["<|endoftext|>", "[gMASK]", "<sop>", "<|user|>", "<|assistant|>", *marks], eos="<|endoftext|>"
    )
    start, end, image, video_start, video_end, video = tok.convert_tokens_to_ids(marks)
    config = transformers.GlmOcrConfig(
        vision_config=GLM_VISION,
        text_config={**TEXT, "pad_token_id": 256, "rope_parameters": rope(1, 1, 2)},
        image_token_id=image, video_token_id=video, image_start_token_id=start, image_end_token_id=end,
        video_start_token_id=video_start, video_end_token_id=video_end,
    )  # fmt: skip
    pictures = transformers.Glm46VImageProcessorPil(size={"shortest_edge": 3136, "longest_edge": 31360})
    chat = template(
        "<|begin_of_image|><|image|><|end_of_image|>", start="<|user|>", end="", prefix="[gMASK]<sop>"
    )
    return config, pictures, tok, chat, "Glm46VProcessor"


def glm4v() -> Made:
    config, _, tok, chat, _ = glm_ocr()
    vision, text = config.vision_config.to_dict(), config.text_config.to_dict()
    marks = ("image", "video", "image_start", "image_end", "video_start", "video_end")
    made = transformers.Glm4vConfig(
        vision_config={key: vision[key] for key in GLM_VISION},
        text_config={key: text[key] for key in (*TEXT, "pad_token_id", "rope_parameters")},
        **{f"{mark}_token_id": getattr(config, f"{mark}_token_id") for mark in marks},
    )
    pictures = transformers.Glm4vImageProcessorPil(size={"shortest_edge": 3136, "longest_edge": 31360})
    return made, pictures, tok, chat, "Glm4vProcessor"


def gemma3() -> Made:
    roles = {
        "image_token": "<image_soft_token>",
        "boi_token": "<start_of_image>",
        "eoi_token": "<end_of_image>",
    }
    tok = tokenizer(["<|endoftext|>", "<|im_start|>", "<|im_end|>", *roles.values()], roles=roles)
    image, start, end = tok.convert_tokens_to_ids(list(roles.values()))
    config = transformers.Gemma3Config(
        vision_config={**VISION, "model_type": "siglip_vision_model", "image_size": 56, "vision_use_head": False},
        text_config={**TEXT, "head_dim": 16, "query_pre_attn_scalar": 16, "pad_token_id": 256, "sliding_window": 16},
        mm_tokens_per_image=4, image_token_index=image, boi_token_index=start, eoi_token_index=end,
        tie_word_embeddings=False,
    )  # fmt: skip
    pictures = transformers.Gemma3ImageProcessorPil(size={"height": 56, "width": 56})
    return config, pictures, tok, template("<start_of_image>"), "Gemma3Processor"


def llava_onevision() -> Made:
    roles = {"image_token": "<image>", "video_token": "<video>"}
    tok = tokenizer(["<|endoftext|>", "<|im_start|>", "<|im_end|>", *roles.values()], roles=roles)
    image, video = tok.convert_tokens_to_ids(list(roles.values()))
    config = transformers.LlavaOnevisionConfig(
        vision_config={**VISION, "model_type": "siglip_vision_model", "image_size": 56, "vision_use_head": False},
        text_config={**TEXT, "model_type": "qwen2"}, vision_feature_layer=-1,
        image_token_index=image, video_token_index=video, image_grid_pinpoints=[[56, 112], [112, 56], [112, 112]],
    )  # fmt: skip
    pictures = transformers.LlavaOnevisionImageProcessorPil(
        size={"height": 56, "width": 56}, image_grid_pinpoints=[[56, 112], [112, 56], [112, 112]]
    )
    return config, pictures, tok, template("<image>\n"), "LlavaOnevisionProcessor"


def lighton_ocr() -> Made:
    roles = {
        "image_token": "<|image_pad|>", "image_break_token": "<|vision_start|>", "image_end_token": "<|vision_end|>"
    }  # fmt: skip
    tok = tokenizer(QWEN, roles=roles)
    config = transformers.LightOnOcrConfig(
        vision_config={
            **VISION, "model_type": "pixtral", "head_dim": 16, "image_size": 140,
            "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
        },
        text_config={**TEXT, "model_type": "qwen3", "head_dim": 16},
        image_token_id=tok.convert_tokens_to_ids("<|image_pad|>"),
    )  # fmt: skip
    pictures = transformers.PixtralImageProcessorPil(
        size={"longest_edge": 140}, patch_size={"height": 28, "width": 28}
    )
    return config, pictures, tok, template("<|image_pad|>"), "LightOnOcrProcessor"


def glm4v_moe() -> Made:
    config, pictures, tok, chat, processor = glm4v()
    text = config.text_config.to_dict()
    made = transformers.Glm4vMoeConfig(
        vision_config=GLM_VISION,
        text_config={
            **{key: text[key] for key in (*TEXT, "pad_token_id")}, "moe_intermediate_size": 24,
            "rope_parameters": rope(1, 1, 2, partial_rotary_factor=1.0),
            "n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2, "first_k_dense_replace": 1,
            "head_dim": 8,
        },
        **{key: value for key, value in config.to_dict().items() if key.endswith("token_id")},
    )  # fmt: skip
    return made, pictures, tok, chat, processor


def hunyuan_vl() -> Made:
    marks = ["<|image_start|>", "<|image_end|>", "<|image|>", "<|image_nl|>"]
    tok = tokenizer(
        ["<|pad|>", "<|bos|>", "<|eos|>", *marks],
        roles={"image_token": marks[2], "image_start_token": marks[0], "image_end_token": marks[1]},
        eos="<|eos|>",
        pad_token="<|pad|>",
        bos_token="<|bos|>",
    )
    start, end, image, newline = tok.convert_tokens_to_ids(marks)
    config = transformers.HunYuanVLConfig(
        vision_config={**VISION, "patch_size": 16, "out_hidden_size": 32, "max_image_size": 256},
        text_config={
            **TEXT, "head_dim": 16, "rope_parameters": rope(2, 2, 2, 2), "pad_token_id": 256, "bos_token_id": 257,
            "eos_token_id": 258,
        },
        image_token_id=image, im_start_id=start, im_end_id=end, im_newline_id=newline,
    )  # fmt: skip
    pictures = transformers.HunYuanVLImageProcessorPil(size={"shortest_edge": 4096, "longest_edge": 36864})
    chat = template("<|image_start|><|image|><|image_end|>", start="<|bos|>", end="")
    return config, pictures, tok, chat, "HunYuanVLProcessor"


def granite_docling() -> Made:
    marks = ("<fake_token_around_image>", "<image>", "<global-img>")
    tok = tokenizer(["<|endoftext|>", "<|im_start|>", "<|im_end|>", *marks])
    config = transformers.GraniteDoclingConfig(
        vision_config={
            **VISION, "num_hidden_layers": 3, "image_size": 128, "patch_size": 16, "out_hidden_size": 32,
            "scale_factor": 4, "deepstack_visual_indexes": [0, 1], "use_fine_route": True,
        },
        text_config={**TEXT, "pad_token_id": 256, "bos_token_id": 256, "eos_token_id": 258},
        image_token_id=tok.convert_tokens_to_ids("<image>"),
        pad_token_id=256,
        tie_word_embeddings=False,  # else it repeats what it is given
    )  # fmt: skip
    pictures = transformers.GraniteDoclingImageProcessorPil(size={"height": 128, "width": 128}, max_patches=4)
    return config, pictures, tok, template("<image>"), "GraniteDoclingProcessor"


def minicpmv4_7() -> Made:
    roles = {
        "image_token": "<|image_pad|>", "video_token": "<|video_pad|>", "image_start_token": "<image>",
        "image_end_token": "</image>", "slice_start_token": "<slice>", "slice_end_token": "</slice>",
        "image_id_start_token": "<image_id>", "image_id_end_token": "</image_id>",
    }  # fmt: skip
    tok = tokenizer([*QWEN, *list(roles.values())[2:]], roles=roles)

    def number(name: str) -> int:
        return int(tok.convert_tokens_to_ids(roles[name]))

    config = transformers.MiniCPMV4_7Config(
        vision_config={**VISION, "num_hidden_layers": 3, "image_size": 112},
        text_config=LINEAR,
        insert_layer_id=1,
        downsample_mode="16x",
        image_token_id=number("image_token"),
        video_token_id=number("video_token"),
        image_start_id=number("image_start_token"),
        image_end_id=number("image_end_token"),
        slice_start_id=number("slice_start_token"),
        slice_end_id=number("slice_end_token"),
        newline_id=tok("\n", add_special_tokens=False).input_ids[0],
    )
    pictures = transformers.MiniCPMV4_6ImageProcessorPil(scale_resolution=112, max_slice_nums=4)
    return config, pictures, tok, template("<|image_pad|>"), "MiniCPMV4_7Processor"


def qwen(name: str, text: dict[str, Any], processor: str, patch_px: int, **vision: Any) -> Made:
    tok = tokenizer(QWEN)
    start, end, image, video = tok.convert_tokens_to_ids(list(QWEN[3:]))
    config = getattr(transformers, f"{name}Config")(
        vision_config={"depth": 2, "hidden_size": 32, "num_heads": 2, "patch_size": patch_px, **vision},
        text_config=text,
        image_token_id=image, video_token_id=video, vision_start_token_id=start, vision_end_token_id=end,
    )  # fmt: skip
    size = {"shortest_edge": 16 * patch_px**2, "longest_edge": 80 * patch_px**2}
    pictures = transformers.Qwen2VLImageProcessorPil(size=size, patch_size=patch_px)
    return config, pictures, tok, template(QWEN_IMAGE), processor


QWEN_TEXT = {**TEXT, "bos_token_id": 256, "eos_token_id": 258, "rope_parameters": rope(1, 1, 2)}
WIDTHS = {"intermediate_size": 48, "out_hidden_size": 32}


def qwen3_vl() -> Made:
    text = {**TEXT, "head_dim": 16, "rope_parameters": rope(4, 2, 2)}
    levels = {"depth": 3, "deepstack_visual_indexes": [0, 1]}
    return qwen("Qwen3VL", text, "Qwen3VLProcessor", 16, **WIDTHS, num_position_embeddings=64, **levels)


def qwen3_5() -> Made:
    return qwen("Qwen3_5", LINEAR, "Qwen3VLProcessor", 16, **WIDTHS, num_position_embeddings=64)


def qwen2_vl() -> Made:
    return qwen("Qwen2VL", QWEN_TEXT, "Qwen2VLProcessor", 14, embed_dim=32, mlp_ratio=2)


def qwen2_5_vl() -> Made:
    windows = {"window_size": 56, "fullatt_block_indexes": [1]}
    return qwen("Qwen2_5_VL", QWEN_TEXT, "Qwen2_5_VLProcessor", 14, **WIDTHS, **windows)


def got_ocr2() -> Made:
    tok = tokenizer(["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<img>", "</img>", "<imgpad>"])
    config = transformers.GotOcr2Config(
        vision_config={
            "hidden_size": 32, "output_channels": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
            "image_size": 1024, "patch_size": 16, "window_size": 14, "global_attn_indexes": [1], "mlp_dim": 48,
        },
        text_config={**TEXT, "model_type": "qwen2"},
        image_token_index=tok.convert_tokens_to_ids("<imgpad>"),
    )  # fmt: skip
    pictures = transformers.GotOcr2ImageProcessorPil(size={"height": 1024, "width": 1024})
    return config, pictures, tok, None, "GotOcr2Processor"


def internvl() -> Made:
    roles = {
        "start_image_token": "<img>", "end_image_token": "</img>", "context_image_token": "<IMG_CONTEXT>",
        "video_token": "<video>",
    }  # fmt: skip
    tok = tokenizer(["<|endoftext|>", "<|im_start|>", "<|im_end|>", *roles.values()], roles=roles)
    config = transformers.InternVLConfig(
        vision_config={**VISION, "image_size": [56, 56], "patch_size": [14, 14]},
        text_config={**TEXT, "model_type": "qwen2"},
        image_token_id=tok.convert_tokens_to_ids("<IMG_CONTEXT>"),
    )
    pictures = transformers.GotOcr2ImageProcessorPil(
        size={"height": 56, "width": 56}, max_patches=4, crop_to_patches=True
    )
    return config, pictures, tok, template("<IMG_CONTEXT>\n"), "InternVLProcessor"


def deepseek_ocr2() -> Made:
    tok = tokenizer(
        ["<|pad|>", "<|bos|>", "<|eos|>", "<image>", "<|grounding|>"],
        eos="<|eos|>",
        pad_token="<|pad|>",
        bos_token="<|bos|>",
    )
    sam = {
        "hidden_size": 32, "output_channels": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "image_size": 1024,
        "global_attn_indexes": [1], "mlp_dim": 48, "window_size": 14, "downsample_channels": [24, 32],
    }  # fmt: skip
    config = transformers.DeepseekOcr2Config(
        vision_config={
            "sam_config": sam,
            "encoder_config": {
                "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
                "num_key_value_heads": 2, "vocab_size": 8,
            },
        },
        text_config={
            **TEXT, "num_key_value_heads": 4, "moe_intermediate_size": 24, "n_routed_experts": 4, "n_shared_experts": 1,
            "num_experts_per_tok": 2, "mlp_layer_types": ["dense", "sparse"], "pad_token_id": 256, "bos_token_id": 257,
            "eos_token_id": 258,
        },
        image_token_id=tok.convert_tokens_to_ids("<image>"),
    )  # fmt: skip
    pictures = transformers.DeepseekOcr2ImageProcessorPil()
    return config, pictures, tok, template("<image>\n", start="", end=""), "DeepseekOcr2Processor"


TYPES: dict[str, Callable[[], Made]] = {
    made.__name__: made
    for made in (
        paddleocr_vl, glm_ocr, lighton_ocr, hunyuan_vl, granite_docling, minicpmv4_7, qwen3_vl, qwen2_5_vl, got_ocr2,
        internvl, deepseek_ocr2, qwen3_5, qwen2_vl, glm4v, glm4v_moe, gemma3, llava_onevision,
    )
}  # fmt: skip


# Tokens of a picture, which these processors are told.
SEQUENCES: dict[str, dict[str, Any]] = {
    "granite_docling": {"image_seq_len": 4}, "internvl": {"image_seq_length": 4}, "gemma3": {"image_seq_length": 4},
    "llava_onevision": {"num_image_tokens": 16, "vision_feature_select_strategy": "full"},
}  # fmt: skip


def save(model_type: str, folder: Path) -> Path:
    """Saves a checkpoint whose weights are large enough for its tokens to depend on the page; returns its folder."""
    config, pictures, tok, chat, processor_class = TYPES[model_type]()
    torch.manual_seed(0)
    model = AutoModelForImageTextToText.from_config(config).eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in model.parameters():
            spread = 0.2 if weight.ndim < 2 else 1.5 * weight[0].numel() ** -0.5
            mean = 1 if weight.ndim == 1 and weight.mean() > 0.5 else 0
            weight.copy_(torch.randn(weight.shape, generator=generator) * spread + mean)
    model.save_pretrained(folder)
    tok.chat_template = chat
    tok.save_pretrained(folder)
    pictures.save_pretrained(folder)
    settings = {"processor_class": processor_class} | SEQUENCES.get(model_type, {})
    (folder / "processor_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return folder
