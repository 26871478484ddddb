/** Whether calls go to the backend of an API: the circuit breaker's state. */
export type UpstreamState = 'healthy' | 'degraded' | 'unhealthy' | 'recovering'
