/** Reads the settings in force and the health of the process. */

import { statfs } from 'node:fs/promises'
import type { ServiceHealth, ServiceState } from '../interfaces/platform/service-state.ts'
import { readVersion } from '../foundation/runtime/version.ts'
import { settingsInForce } from './settings/settings-in-force.ts'
import type { Core } from './open-core.ts'
import type { GatewayServices } from './open-gateway.ts'
import type { StreamServices } from './open-stream.ts'

/** The pipeline commits once a second: up to this age it is not late. */
const PUNCTUAL_MS = 3_000

export interface ServiceStateOptions {
  readonly core: Pick<Core, 'config' | 'addresses' | 'clock'>
  readonly stream: Pick<StreamServices, 'pipeline' | 'gauge' | 'refusing'>
  readonly gateway: Pick<GatewayServices, 'pool'>
  /** Returns why the service is starting or stopping, or null. */
  readonly notServing: () => string | null
}

export function createServiceState({ core, stream, gateway, notServing }: ServiceStateOptions): ServiceState {
  const { config, addresses, clock } = core
  const startedMs = clock.nowMs()

  async function health(): Promise<ServiceHealth> {
    const nowMs = clock.nowMs()
    const reason = notServing() ?? stream.refusing()
    const state = reason === null ? 'ready' : 'refusing'
    const { readMs, storedMs } = stream.pipeline.lag()
    return {
      state,
      reason,
      version: readVersion(),
      startedAt: new Date(startedMs).toISOString(),
      uptimeSeconds: Math.floor((nowMs - startedMs) / 1_000),
      memoryBytes: process.memoryUsage.rss(),
      spool: { usedRatio: stream.gauge.share, maxBytes: config.spoolMaxBytes },
      pipeline: { readLagSeconds: lagOf(readMs, nowMs), storeLagSeconds: lagOf(storedMs, nowMs) },
      store: {
        kind: config.clickhouseUrl === null ? 'embedded' : 'server',
        storedAt: new Date(storedMs).toISOString(),
      },
      disk: await diskOf(config.dataDir),
      threads: gateway.pool.threads().map(({ isReady, ...thread }) => ({
        ...thread,
        state: isReady ? 'ready' : 'starting',
      })),
      nodes: [{ name: config.nodeName, state }],
    }
  }

  return { settings: () => settingsInForce(config, addresses), health }
}

function lagOf(sinceMs: number, nowMs: number): number {
  const lagMs = nowMs - sinceMs
  return lagMs <= PUNCTUAL_MS ? 0 : Math.round(lagMs / 100) / 10
}

async function diskOf(folder: string): Promise<ServiceHealth['disk']> {
  try {
    const { bavail, blocks, bsize } = await statfs(folder)
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
  } catch {
    return null
  }
}
