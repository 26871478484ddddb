/** Whether calls go to a backend or one of its targets: the circuit breaker's state. */
export type UpstreamState = 'healthy' | 'degraded' | 'unhealthy' | 'recovering'

const SEVERITIES: Readonly<Record<UpstreamState, number>> = { healthy: 0, recovering: 0, degraded: 1, unhealthy: 2 }

/** How badly a target fails; 0 while it recovers. */
export function severityOf(state: UpstreamState): number {
  return SEVERITIES[state]
}

/** Returns whether a target that changes its state fails worse than before. One that recovers may be degraded for a while. */
export function isWorse(from: UpstreamState, to: UpstreamState): boolean {
  return severityOf(to) > severityOf(from) && !(from === 'recovering' && to === 'degraded')
}
