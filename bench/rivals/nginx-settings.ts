/** An nginx with one worker, no log of calls, and connections that stay open. */

import { join } from 'node:path'

export function nginxSettings(dir: string, name: string, http: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `${kind}_temp_path ${join(dir, `${name}-${kind}`)};`)
    .join('\n  ')
  return `daemon off;
worker_processes 1;
pid ${join(dir, `${name}.pid`)};
error_log stderr error;
events { worker_connections 16384; }
http {
  access_log off;
  keepalive_timeout 3600s;
  keepalive_requests 1000000000;
  ${temporary}
  ${http}
}
`
}
