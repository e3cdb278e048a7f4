workload "chat" {
  apis = ["openai.chat"]
  tier "primary" { endpoints = [endpoint.gpu-a, endpoint.gpu-b] }
  balance "p2c" {}
}
