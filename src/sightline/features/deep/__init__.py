"""Deep features: EfficientNet-lite0, trained on ImageNet, run by onnxruntime on one CPU thread.

Needs the extra `deep`. The weights come inside an installed package; nothing is downloaded.
"""
