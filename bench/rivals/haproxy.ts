/**
 * HAProxy that verifies the ES256 signature, the end and the scope of the token, and counts calls of
 * a client in a stick table with a limit that is never reached. One thread.
 */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../src/interfaces/cli/free-port.ts'
import { BENCH_PATH, type Contestant } from '../contestant.ts'
import { processCpuMs } from '../process-cpu.ts'
import { startProgram } from '../program.ts'
import type { Workbench } from '../workbench.ts'

export async function startHaproxy({ dir, backendPort, token, publicKeyPath }: Workbench): Promise<Contestant> {
  const port = await freePort()
  const path = join(dir, 'haproxy.cfg')
  writeFileSync(
    path,
    `global
  nbthread 1
  maxconn 4096
defaults
  mode http
  timeout connect 5s
  timeout client 3600s
  timeout server 3600s
  http-reuse always
frontend gate
  bind 127.0.0.1:${port}
  stick-table type string len 64 size 100k expire 60s store http_req_rate(1s)
  http-request set-var(txn.bearer) http_auth_bearer
  http-request set-var(txn.alg) var(txn.bearer),jwt_header_query('$.alg')
  http-request deny deny_status 401 unless { var(txn.alg) -m str ES256 }
  http-request deny deny_status 401 unless { var(txn.bearer),jwt_verify(txn.alg,"${publicKeyPath}") 1 }
  http-request set-var(txn.now) date()
  http-request set-var(txn.left) var(txn.bearer),jwt_payload_query('$.exp','int'),sub(txn.now)
  http-request deny deny_status 401 unless { var(txn.left) -m int gt 0 }
  http-request deny deny_status 403 unless { var(txn.bearer),jwt_payload_query('$.scope') -m sub items:read }
  http-request track-sc0 var(txn.bearer),jwt_payload_query('$.client_id')
  http-request deny deny_status 429 if { sc_http_req_rate(0) gt 1000000000 }
  default_backend items
backend items
  server items 127.0.0.1:${backendPort}
`,
  )
  const { pid, stop } = await startProgram({ command: 'haproxy', args: ['-f', path, '-db', '-q'], port })
  return {
    name: 'HAProxy, ES256 and a stick table',
    url: `http://127.0.0.1:${port}${BENCH_PATH}`,
    token,
    cpuMs: () => processCpuMs(pid),
    stop,
  }
}
