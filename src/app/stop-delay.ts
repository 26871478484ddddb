/**
 * Lets load balancers send calls elsewhere before the ports close: a service that stops says so at `/readyz`, and still serves for
 * `STOP_DELAY_SECONDS`.
 *
 * Meanwhile every response ends its connection. A request that arrives on an open connection while it is being closed is lost, and
 * its client cannot know whether it was executed.
 */

import type { Config } from './config.ts'
import type { GatewayPool } from '../gateway/threads/gateway-pool-options.ts'
import type { Platform } from '../interfaces/platform/server.ts'
import type { Clock } from '../foundation/runtime/clock.ts'
import type { Shared } from './open-shared.ts'
import type { StreamServices } from './open-stream.ts'

export interface StopDelayOptions {
  readonly config: Pick<Config, 'stopDelaySeconds'>
  readonly pool: Pick<GatewayPool, 'leave'>
  readonly platform: Pick<Platform, 'leave'>
  /** Null: a single node. */
  readonly shared: Pick<Shared, 'beginStop'> | null
  readonly stream: Pick<StreamServices, 'beginStop'>
  readonly clock: Pick<Clock, 'after'>
  /** Makes `/readyz` answer 503. */
  readonly onStopping: () => void
}

/** Returns the first step of a stop. */
export function createStopDelay(options: StopDelayOptions): () => Promise<void> {
  const { config, pool, platform, shared, stream, clock, onStopping } = options
  return async () => {
    onStopping()
    if (config.stopDelaySeconds > 0) {
      platform.leave()
      await pool.leave()
      await new Promise<void>((resolve) => void clock.after(config.stopDelaySeconds * 1_000, resolve))
    }
    shared?.beginStop()
    stream.beginStop()
  }
}
