"""Deep features: networks trained on ImageNet, run by onnxruntime on one CPU thread.

EfficientNet-lite0, and the larger lite1 and lite2. Needs the extra `deep`. The weights come inside
installed packages; nothing is downloaded.
"""
