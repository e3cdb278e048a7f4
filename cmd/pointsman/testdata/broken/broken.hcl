workload "chat" {
  apis = ["openai.chat"]
  tier "primary" { endpoints = [endpoint.gpu-z] }
}
