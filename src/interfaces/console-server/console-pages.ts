/**
 * The files of the console, as Vite has built them.
 *
 * Every path below `/console/` that is no file is the same page, which shows what the path says: an address can be kept and sent to
 * others. Files have their content in their names and are kept for a year; the page is asked for each time. It may load nothing from
 * elsewhere, and only style elements with the nonce of the answer.
 */

import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply } from 'fastify'

export interface ConsolePages {
  /** False: the console has not been built. */
  readonly isBuilt: boolean
  install(app: FastifyInstance): void
}

const FILES = fileURLToPath(new URL('../../../build/console/', import.meta.url))
const NONCE = '__NONCE__'
const NONCE_BYTES = 16
const PATH = '/console/'

export function createConsolePages(files = FILES): ConsolePages {
  const page = existsSync(`${files}index.html`) ? readFileSync(`${files}index.html`, 'utf8') : null
  return {
    isBuilt: page !== null,
    install(app) {
      if (page === null) return
      const send = (reply: FastifyReply): FastifyReply => sendPage(reply, page)
      void app.register(fastifyStatic, {
        root: `${files}assets/`,
        prefix: `${PATH}assets/`,
        decorateReply: false,
        preCompressed: true,
        immutable: true,
        maxAge: '365d',
        index: false,
      })
      for (const url of [PATH, `${PATH}*`]) app.get(url, { exposeHeadRoute: true }, async (_, reply) => send(reply))
      app.get('/console', { exposeHeadRoute: true }, async (_, reply) => reply.redirect(PATH, 302))
    },
  }
}

function sendPage(reply: FastifyReply, page: string): FastifyReply {
  const nonce = randomBytes(NONCE_BYTES).toString('base64')
  const policy = [
    "default-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ]
  return reply
    .headers({
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': policy.join('; '),
      'X-Frame-Options': 'DENY',
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'same-origin',
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cache-Control': 'no-store',
    })
    .send(page.replaceAll(NONCE, nonce))
}
