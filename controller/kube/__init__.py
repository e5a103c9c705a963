"""The only room that talks to the apiserver: connection, requests as bytes, list+watch, errors, decoding."""
