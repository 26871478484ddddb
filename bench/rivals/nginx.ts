/** nginx that merely proxies: the floor. One worker, connections to the backend kept open. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../src/interfaces/cli/free-port.ts'
import { BENCH_PATH, type Contestant } from '../contestant.ts'
import { processCpuMs } from '../process-cpu.ts'
import { startProgram } from '../program.ts'
import type { Workbench } from '../workbench.ts'
import { nginxSettings } from './nginx-settings.ts'

export interface CertificatePaths {
  readonly certPath: string
  readonly keyPath: string
}

/** With a certificate, it serves HTTPS and HTTP/2. */
export async function startNginx(
  { dir, backendPort, token }: Workbench,
  certificate: CertificatePaths | null = null,
): Promise<Contestant> {
  const port = await freePort()
  const name = certificate === null ? 'proxy' : 'proxy-tls'
  const path = join(dir, `${name}.conf`)
  const tls =
    certificate === null
      ? ''
      : `ssl_certificate ${certificate.certPath}; ssl_certificate_key ${certificate.keyPath}; ssl_protocols TLSv1.3;`
  writeFileSync(
    path,
    nginxSettings(
      dir,
      name,
      `upstream backend { server 127.0.0.1:${backendPort}; keepalive 256; keepalive_requests 1000000000; keepalive_timeout 3600s; }
  server {
    listen 127.0.0.1:${port}${certificate === null ? '' : ' ssl http2'};
    ${tls}
    client_max_body_size 0;
    location / { proxy_request_buffering off; proxy_pass http://backend; proxy_http_version 1.1; proxy_set_header Connection ""; }
  }`,
    ),
  )
  const { pid, stop } = await startProgram({ command: 'nginx', args: ['-c', path], port })
  return {
    name: 'nginx, merely proxying',
    url: `${certificate === null ? 'http' : 'https'}://127.0.0.1:${port}${BENCH_PATH}`,
    token,
    cpuMs: () => processCpuMs(pid),
    stop,
  }
}
