variable "slots" { default = 64 }

model "qwen-7b" {
  artifact          = "qwen2.5-7b-instruct/fp8/a1b2c3"
  capabilities      = ["chat", "stream", "tools"]
  context_window    = 32768
  max_output_tokens = 8192
  price {
    input  = "0"
    output = "0"
  }
}

provider "gpu-a" {
  dialect  = "vllm"
  base_url = "http://127.0.0.1:8001/v1"
}

provider "gpu-b" {
  dialect  = "vllm"
  base_url = "http://127.0.0.1:8002/v1"
}

endpoint "gpu-a" {
  provider    = provider.gpu-a
  model       = model.qwen-7b
  wire_model  = "qwen"
  apis        = ["openai.chat"]
  concurrency = var.slots
}

endpoint "gpu-b" {
  provider    = provider.gpu-b
  model       = model.qwen-7b
  wire_model  = "qwen"
  apis        = ["openai.chat"]
  concurrency = var.slots
}
