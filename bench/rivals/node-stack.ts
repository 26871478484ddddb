/** Starts a gateway that is one process of Node, and counts the CPU of that process. */

import { freePort } from '../../src/interfaces/cli/free-port.ts'
import { BENCH_PATH, type Contestant } from '../contestant.ts'
import { processCpuMs } from '../process-cpu.ts'
import { startProgram } from '../program.ts'
import type { Workbench } from '../workbench.ts'

export interface NodeStack {
  readonly name: string
  /** Reads `PORT`, `BACKEND` and `PUBLIC_KEY` (the file of the key), or settings of its own. */
  readonly script: string
  readonly env?: Readonly<Record<string, string>>
  /** Default: a free one. */
  readonly port?: number
}

export async function startNodeStack(workbench: Workbench, stack: NodeStack): Promise<Contestant> {
  const { name, script, env, port = await freePort() } = stack
  const { pid, stop } = await startProgram({
    command: process.execPath,
    args: [script],
    env: {
      NODE_ENV: 'production',
      PORT: String(port),
      BACKEND: `http://127.0.0.1:${workbench.backendPort}`,
      PUBLIC_KEY: workbench.publicKeyPath,
      ...env,
    },
    port,
  })
  return {
    name,
    url: `http://127.0.0.1:${port}${BENCH_PATH}`,
    token: workbench.token,
    cpuMs: () => processCpuMs(pid),
    stop,
  }
}
