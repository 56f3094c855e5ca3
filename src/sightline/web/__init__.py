"""The service: everything a gallery, a script or a page needs of a collection, over HTTP.

Only this package knows FastAPI and uvicorn, and only `app`, `server` and `routes` import them, so that
nobody else waits for them. It has no logic of its own: each answer is one call of `Collection`.
"""
