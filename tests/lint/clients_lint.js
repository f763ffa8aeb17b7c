// Findings of the default rules of ESLint and ruff in the given files, a line each.
//     node clients_lint.js FILE...
'use strict';

const fs = require('fs');
const js = require('@eslint/js');
const { ESLint } = require('eslint');
const { Workspace, PositionEncoding } = require('@astral-sh/ruff-wasm-nodejs');

/** The names that Node has for all files, and those of CommonJS. */
const names = [...Object.getOwnPropertyNames(globalThis), 'require', 'module', 'exports', '__dirname', '__filename'];
const globals = Object.fromEntries(names.map((name) => [name, 'readonly']));

async function main(files) {
    const scripts = files.filter((file) => file.endsWith('.js'));
    const eslint = new ESLint({
        cwd: '/', overrideConfigFile: true,
        overrideConfig: [js.configs.recommended, { languageOptions: { sourceType: 'commonjs', globals } }],
    });
    for (const { filePath, messages } of scripts.length ? await eslint.lintFiles(scripts) : [])
        for (const { line, ruleId, message } of messages) console.log(`${filePath}:${line}: ${ruleId}: ${message}`);
    const ruff = new Workspace({}, PositionEncoding.Utf16);
    for (const file of files.filter((each) => each.endsWith('.py')))
        for (const { start_location: at, code, message } of ruff.check(fs.readFileSync(file, 'utf8')))
            console.log(`${file}:${at.row}: ${code}: ${message}`);
}

main(process.argv.slice(2));
