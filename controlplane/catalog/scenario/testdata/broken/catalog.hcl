workload "chat" {
  apis  = ["openai.chat"]
  colur = "red"
  tier "all" { endpoints = [endpoint.gone] }
}
