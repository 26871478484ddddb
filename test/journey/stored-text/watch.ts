/**
 * Watches a page of the console for stored text that became more than text: a script that ran, an element, an address that a browser
 * would follow, a request to another place, a dialog, or a layout that is wider than the window.
 */

import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'

export interface Watch {
  /** Everything that was seen so far, and what the page has now; empty if stored text is only text. */
  findings(page: Page): Promise<readonly string[]>
}

const IN_PAGE = join(import.meta.dirname, 'in-page.js')

/** Must be called before the page is opened. `origins`: those of the service. */
export async function watch(context: BrowserContext, origins: readonly string[]): Promise<Watch> {
  const found = new Set<string>()
  await context.exposeBinding('ran', (_, number: number) => void found.add(`script of field ${number} ran`))
  await context.exposeBinding('tollgateFound', (_, what: string) => void found.add(what))
  await context.addInitScript({ path: IN_PAGE })
  context.on('request', (request) => {
    const { origin, protocol } = new URL(request.url())
    if (!origins.includes(origin) && protocol !== 'data:' && protocol !== 'blob:')
      found.add(`request to ${request.url()}`)
  })
  context.on('dialog', (dialog) => {
    found.add(`dialog ${dialog.type()}`)
    void dialog.dismiss()
  })
  context.on('page', (page) => page.on('pageerror', (error) => found.add(`error ${String(error)}`)))
  return {
    async findings(page) {
      for (const each of await page.evaluate<string[]>('tollgateInspect()')) found.add(each)
      return [...found]
    },
  }
}
