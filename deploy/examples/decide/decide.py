#!/usr/bin/env python3
"""Asks the agent of this host where a chat request goes, and sends it there.

Stubs are generated from this repository's proto/ folder, once:

    pip install grpcio grpcio-tools
    python3 -m grpc_tools.protoc -I proto --python_out=. --grpc_python_out=. \
        pointsman/v1/record.proto pointsman/v1/decision_service.proto

Then: OPENAI_A=sk-… python3 decide.py support-chat "Say hello."
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request

import grpc

from pointsman.v1 import decision_service_pb2 as pm
from pointsman.v1 import decision_service_pb2_grpc as pm_grpc

AGENT = os.environ.get("POINTSMAN_AGENT", "unix:///run/pointsman/agent.sock")


def send(to, prompt):
    """One attempt at one endpoint: what it answered, and a SettleRequest that says how it went."""
    body = {"model": to.model, "messages": [{"role": "user", "content": prompt}], "max_tokens": 200}
    header = {"Content-Type": "application/json"}
    secret = os.environ.get(to.credential.upper().replace("-", "_")) if to.credential else None
    if secret:
        header["Authorization"] = "Bearer " + secret
    request = urllib.request.Request(to.base_url.rstrip("/") + "/chat/completions", json.dumps(body).encode(), header)
    settle = pm.SettleRequest(attempt=to.attempt)
    try:
        with urllib.request.urlopen(request, timeout=to.answer_us / 1e6) as answer:
            said = json.load(answer)
    except urllib.error.HTTPError as e:
        settle.outcome = {401: "unauthorized", 403: "unauthorized", 404: "missing", 413: "too_long", 429: "limited"}.get(
            e.code, "faulted" if e.code >= 500 else "refused")
        settle.detail = "http %d" % e.code
        after = e.headers.get("Retry-After", "")
        settle.retry_after_us = int(after) * 1_000_000 if after.isdigit() else 0
        return None, settle
    except TimeoutError:
        settle.outcome = "timed_out"
        return None, settle
    except (OSError, ValueError):
        settle.outcome = "faulted"
        return None, settle
    usage = said.get("usage") or {}
    settle.outcome = "served"
    settle.usage.input = usage.get("prompt_tokens", 0)
    settle.usage.output = usage.get("completion_tokens", 0)
    return said["choices"][0]["message"]["content"], settle


def chat(agent, workload, prompt):
    """All attempts of one call, as many as the agent says."""
    ask = pm.PickRequest(workload=workload, input_tokens=len(prompt) // 4 + 1, max_output_tokens=200, api="openai.chat")
    while True:
        to = agent.Pick(ask, timeout=30)
        answer, settle = send(to, prompt)
        after = agent.Settle(settle, timeout=5)
        if answer is not None:
            return answer
        if not after.again:
            raise RuntimeError("no endpoint served it; the last, %s: %s %s" % (to.endpoint, settle.outcome, settle.detail))
        time.sleep(after.wait_us / 1e6)
        ask = pm.PickRequest(call=to.call)


def main():
    with grpc.insecure_channel(AGENT) as channel:
        try:
            print(chat(pm_grpc.DecisionServiceStub(channel), sys.argv[1], sys.argv[2]))
        except grpc.RpcError as e:  # RESOURCE_EXHAUSTED and UNAVAILABLE say in their RetryInfo when to come back
            sys.exit("%s: %s" % (e.code().name, e.details()))


if __name__ == "__main__":
    main()
