/** The brand of an organisation: its colour is applied to the page, in a shade for each theme. */

import { signal } from '@preact/signals'
import { CallRefused, chosenConsumer, read, request } from '../api/client.ts'
import type { Answer } from '../api/operations.ts'
import { toShades } from './shades.ts'

export interface Brand {
  readonly name: string | null
  readonly colour: string | null
  readonly logoUrl: string | null
}

type Portal = Answer<'/v1/portal'>

export const brand = signal<Brand | null>(null)
/** The consumers that the person acts for. */
export const consumers = signal<Portal['consumers']>([])

const CHOSEN = 'consumer'

/** Finds the brand of the person's organisation, and the consumers. */
export async function findPortal(): Promise<void> {
  const portal = await read('/v1/portal').catch(ignoreRefusal)
  if (portal === null) return
  consumers.value = portal.consumers
  const chosen = sessionStorage.getItem(CHOSEN)
  chosenConsumer.value = portal.consumers.some(({ id }) => id === chosen) ? String(chosen) : ''
  show(portal)
}

/** Shows the brand of an organisation before the sign-in; that of none for one that is not known. */
export async function findBrand(organisation: string): Promise<void> {
  const query = new URLSearchParams({ organisation }).toString()
  const response = await request(`/console/brand?${query}`).catch(ignoreRefusal)
  if (response !== null) show((await response.json()) as Brand)
}

/** The console works without a brand. */
function ignoreRefusal(cause: unknown): null {
  if (!(cause instanceof CallRefused)) throw cause
  return null
}

export function choose(consumer: string): void {
  chosenConsumer.value = consumer
  sessionStorage.setItem(CHOSEN, consumer)
}

export function show(shown: Brand): void {
  brand.value = shown
  const { style } = document.documentElement
  const shades = shown.colour === null ? null : toShades(shown.colour)
  if (shades === null) {
    style.removeProperty('--accent')
    style.removeProperty('--accent-quiet')
    return
  }
  style.setProperty('--accent', `light-dark(${shades.light}, ${shades.dark})`)
  style.setProperty('--accent-quiet', `light-dark(${shades.light}1f, ${shades.dark}2b)`)
}
