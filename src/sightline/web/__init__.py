"""The REST service of a collection.

Only `app`, `server` and `routes` import FastAPI and uvicorn, so that commands start fast. Routes
hold no logic: each calls one method of `Collection`.
"""
