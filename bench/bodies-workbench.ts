/**
 * The workbench with a backend that also serves files of some sizes, named after their bytes, and accepts
 * uploads.
 *
 * nginx reads an upload to its end, in memory, before it sends an empty call to itself for the answer: `return`
 * alone would answer before the body has arrived.
 */

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openWorkbench, type Workbench } from './workbench.ts'

/** Bytes of a body, and the connections that send such ones at once. */
export const BODIES = [
  { label: '0', bytes: 0, connections: 16 },
  { label: '1 KB', bytes: 1_024, connections: 16 },
  { label: '16 KB', bytes: 16_384, connections: 16 },
  { label: '128 KB', bytes: 131_072, connections: 16 },
  { label: '1 MB', bytes: 1_048_576, connections: 8 },
  { label: '10 MB', bytes: 10_485_760, connections: 4 },
] as const

export const UPLOAD_PATH = '/bench-v1/up'

export function filePath(bytes: number): string {
  return `/bench-v1/files/${bytes}`
}

export function openBodiesWorkbench(): Promise<Workbench> {
  return openWorkbench({
    locations(dir) {
      mkdirSync(join(dir, 'files'))
      for (const { bytes } of BODIES) writeFileSync(join(dir, 'files', String(bytes)), Buffer.alloc(bytes, 'x'))
      const upload = `{
        client_max_body_size 0;
        client_body_buffer_size 16m;
        proxy_pass http://self/done;
        proxy_method GET;
        proxy_pass_request_body off;
        proxy_set_header Content-Length "";
        proxy_http_version 1.1;
        proxy_set_header Connection "";
      }`
      return `
        sendfile on;
        root ${dir};
        location /files/ {}
        location /bench-v1/files/ { alias ${dir}/files/; }
        location /up ${upload}
        location /bench-v1/up ${upload}
      `
    },
  })
}

/** Writes a script for wrk that posts a body of that size, and returns its path. */
export function uploadScript(dir: string, bytes: number): string {
  const path = join(dir, `upload-${bytes}.lua`)
  const lines = [
    'wrk.method = "POST"',
    'wrk.headers["Content-Type"] = "application/octet-stream"',
    `wrk.body = string.rep("x", ${bytes})`,
  ]
  writeFileSync(path, lines.join('\n'))
  return path
}
