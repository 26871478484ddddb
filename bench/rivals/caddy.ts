/** Caddy that merely proxies: one processor, no log of calls, no administration, connections to the backend kept open. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../src/interfaces/cli/free-port.ts'
import { BENCH_PATH, type Contestant } from '../contestant.ts'
import { processCpuMs } from '../process-cpu.ts'
import { startProgram } from '../program.ts'
import type { Workbench } from '../workbench.ts'

export async function startCaddy({ dir, backendPort, token }: Workbench): Promise<Contestant> {
  const port = await freePort()
  const path = join(dir, 'Caddyfile')
  // Caddy warns of a file without tabs.
  writeFileSync(path, settings(port, backendPort).replaceAll('  ', '\t'))
  const { pid, stop } = await startProgram({
    command: 'caddy',
    args: ['run', '--config', path, '--adapter', 'caddyfile'],
    env: { GOMAXPROCS: '1', XDG_CONFIG_HOME: dir, XDG_DATA_HOME: dir },
    port,
  })
  return {
    name: 'Caddy, merely proxying',
    url: `http://127.0.0.1:${port}${BENCH_PATH}`,
    token,
    cpuMs: () => processCpuMs(pid),
    stop,
  }
}

function settings(port: number, backendPort: number): string {
  return `{
  admin off
  auto_https off
  log {
    level ERROR
  }
}
http://127.0.0.1:${port} {
  bind 127.0.0.1
  reverse_proxy 127.0.0.1:${backendPort} {
    transport http {
      keepalive 1h
      keepalive_idle_conns 256
      keepalive_idle_conns_per_host 256
    }
  }
}
`
}
