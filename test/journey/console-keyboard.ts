/**
 * The console with the keyboard alone: all of a person's way is Tab, the keys of the console, and typing.
 *
 * Nothing here clicks, and nothing moves the focus by script. The unit test of this file refuses both in each test that says
 * "with the keyboard alone".
 */

import type { Page } from 'playwright-core'
import { PASSWORD } from './shared-client.ts'

export type Name = string | RegExp

const PRESSES_MAX = 100

/** The name of the element that has the focus; `''` if it is the page or the view. */
const FOCUSED = `(({ activeElement: at, body }) => {
  if (at === null || at === body || at.id === 'view') return ''
  const label = at.getAttribute('aria-label') ?? at.labels?.[0]?.textContent ?? at.textContent
  return label.trim()
})(document)`

/** The text of the row that has the focus. */
const FOCUSED_ROW = `document.activeElement?.closest('tr, [data-row]')?.textContent ?? ''`

export function nameOfFocus(page: Page): Promise<string> {
  return page.evaluate<string>(FOCUSED)
}

/** Moves the focus to the element with this name, on which it may be already. */
export async function tabTo(page: Page, name: Name, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  await pressUntil(page, key, FOCUSED, (found) => (typeof name === 'string' ? found === name : name.test(found)))
}

/** Moves the focus to the element with this name, and presses Enter. */
export async function activate(page: Page, name: Name): Promise<void> {
  await tabTo(page, name)
  await page.keyboard.press('Enter')
}

/** Walks through a list to the row that contains the text, and opens it. */
export async function openRow(page: Page, text: string): Promise<void> {
  await pressUntil(page, 'j', FOCUSED_ROW, (row) => row.includes(text))
  await page.keyboard.press('Enter')
}

/** Opens a section of the console: `g`, and its letter. */
export async function goTo(page: Page, letter: string): Promise<void> {
  await page.keyboard.press('g')
  await page.keyboard.press(letter)
}

/** Replaces the text of a field. */
export async function enterText(page: Page, name: Name, text: string): Promise<void> {
  await tabTo(page, name)
  await replaceText(page, text)
}

/** Replaces the text of the field or the editor that has the focus. */
export async function replaceText(page: Page, text: string): Promise<void> {
  await page.keyboard.press('Control+a')
  // In an editor, the browser would give the new text the inline style of the old one, which the policy of the page blocks.
  await page.keyboard.press('Delete')
  await page.keyboard.insertText(text)
}

/** Chooses the option of a list that begins so, by typing. */
export async function choose(page: Page, name: Name, option: string): Promise<void> {
  await tabTo(page, name)
  await page.keyboard.type(option)
}

/** Signs in on the page that the console shows to a stranger. */
export async function logIn(page: Page, username: string): Promise<void> {
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
  await activate(page, 'Sign in')
  await enterLogin(page, username, PASSWORD)
  // The page of the sign-in has a heading as well.
  await page.getByRole('button', { name: 'Sign out', exact: true }).waitFor()
  await page.getByRole('heading', { level: 1 }).waitFor()
}

/** On the sign-in page of the service. */
export async function enterLogin(page: Page, username: string, password: string): Promise<void> {
  await page.getByLabel('User name').waitFor()
  await enterText(page, 'User name', username)
  await enterText(page, 'Password', password)
  await page.keyboard.press('Enter')
}

async function pressUntil(page: Page, key: string, focused: string, isIt: (text: string) => boolean): Promise<void> {
  const passed: string[] = []
  for (let presses = 0; presses < PRESSES_MAX; presses++) {
    const found = await page.evaluate<string>(focused)
    if (isIt(found)) return
    passed.push(found.slice(0, 40))
    await page.keyboard.press(key)
  }
  throw new Error(`${key} leads to none but ${JSON.stringify([...new Set(passed)])}`)
}
