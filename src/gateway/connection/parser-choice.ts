/**
 * Chooses what reads HTTP, once per process: our own connections over Node's parser, or `node:http` for clients and undici for
 * backends if that parser is missing or does not behave as expected.
 */

import { findHttpParser } from './http1/http-parser.ts'

/** Null if `node:http` and undici serve. */
export const nodeParser = findHttpParser()

/** For the log. */
export const httpParser: 'own' | 'fallback' = nodeParser === null ? 'fallback' : 'own'

/** The warning about the fallback, for operators; null without it. */
export const parserLimitation =
  nodeParser === null
    ? 'The HTTP parser of this version of Node is missing or differs: node:http and undici read HTTP instead, which costs more CPU per call.'
    : null
