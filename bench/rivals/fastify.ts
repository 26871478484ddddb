/** fastify with http-proxy, jwt (verified tokens cached) and rate-limit, as one would assemble it. */

import { join } from 'node:path'
import { freePort } from '../../src/cli/free-port.ts'
import { BENCH_PATH, type Contestant } from '../contestant.ts'
import { processCpuMs } from '../process-cpu.ts'
import { startProgram } from '../program.ts'
import type { Workbench } from '../workbench.ts'

export async function startFastify({ backendPort, token, publicKeyPath }: Workbench): Promise<Contestant> {
  const port = await freePort()
  const { pid, stop } = await startProgram({
    command: process.execPath,
    args: [join(import.meta.dirname, 'fastify-stack.mjs')],
    env: {
      NODE_ENV: 'production',
      PORT: String(port),
      BACKEND: `http://127.0.0.1:${backendPort}`,
      PUBLIC_KEY: publicKeyPath,
    },
    port,
  })
  return {
    name: 'fastify + http-proxy + jwt + rate-limit',
    url: `http://127.0.0.1:${port}${BENCH_PATH}`,
    token,
    cpuMs: () => processCpuMs(pid),
    stop,
  }
}
