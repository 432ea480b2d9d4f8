# Generated from CepParser.g4 by ANTLR 4.13.2
# encoding: utf-8
from antlr4 import *
from io import StringIO
import sys
if sys.version_info[1] > 5:
	from typing import TextIO
else:
	from typing.io import TextIO

def serializedATN():
    return [
        4,1,66,302,2,0,7,0,2,1,7,1,2,2,7,2,2,3,7,3,2,4,7,4,2,5,7,5,2,6,7,
        6,2,7,7,7,2,8,7,8,2,9,7,9,2,10,7,10,2,11,7,11,2,12,7,12,2,13,7,13,
        2,14,7,14,2,15,7,15,2,16,7,16,2,17,7,17,2,18,7,18,2,19,7,19,2,20,
        7,20,2,21,7,21,1,0,5,0,46,8,0,10,0,12,0,49,9,0,1,0,1,0,1,1,1,1,1,
        1,1,1,1,1,1,1,1,1,1,1,5,1,61,8,1,10,1,12,1,64,9,1,1,1,1,1,5,1,68,
        8,1,10,1,12,1,71,9,1,1,1,1,1,1,1,1,1,5,1,77,8,1,10,1,12,1,80,9,1,
        1,1,1,1,3,1,84,8,1,1,2,1,2,1,2,1,3,1,3,1,3,1,4,1,4,1,4,1,4,1,4,3,
        4,97,8,4,1,5,1,5,1,5,1,5,1,6,1,6,1,6,1,6,1,6,5,6,108,8,6,10,6,12,
        6,111,9,6,1,6,1,6,1,6,1,6,1,6,1,6,3,6,119,8,6,1,6,1,6,3,6,123,8,
        6,1,7,1,7,1,7,1,7,1,7,1,7,1,7,3,7,132,8,7,3,7,134,8,7,1,7,3,7,137,
        8,7,1,8,1,8,1,8,1,8,1,8,1,8,1,8,5,8,146,8,8,10,8,12,8,149,9,8,1,
        8,1,8,1,8,1,8,1,8,3,8,156,8,8,1,8,1,8,1,8,5,8,161,8,8,10,8,12,8,
        164,9,8,3,8,166,8,8,1,9,1,9,1,9,3,9,171,8,9,1,10,1,10,1,10,5,10,
        176,8,10,10,10,12,10,179,9,10,1,11,5,11,182,8,11,10,11,12,11,185,
        9,11,1,11,1,11,3,11,189,8,11,1,12,1,12,1,12,1,12,3,12,195,8,12,1,
        12,1,12,1,12,1,12,3,12,201,8,12,1,13,1,13,1,13,1,13,1,13,5,13,208,
        8,13,10,13,12,13,211,9,13,1,13,1,13,1,13,1,13,1,13,1,13,1,13,1,13,
        1,13,3,13,222,8,13,1,14,1,14,1,14,5,14,227,8,14,10,14,12,14,230,
        9,14,1,15,1,15,1,15,1,15,1,15,1,15,1,15,1,15,3,15,240,8,15,1,15,
        1,15,1,15,1,15,1,15,1,15,3,15,248,8,15,1,15,4,15,251,8,15,11,15,
        12,15,252,1,15,1,15,3,15,257,8,15,1,15,1,15,1,15,1,15,1,15,3,15,
        264,8,15,1,15,1,15,3,15,268,8,15,1,16,1,16,1,16,1,16,3,16,274,8,
        16,1,16,3,16,277,8,16,1,17,1,17,1,17,1,17,5,17,283,8,17,10,17,12,
        17,286,9,17,3,17,288,8,17,1,18,1,18,1,18,1,18,1,18,1,19,1,19,1,19,
        1,20,1,20,1,21,1,21,1,21,0,0,22,0,2,4,6,8,10,12,14,16,18,20,22,24,
        26,28,30,32,34,36,38,40,42,0,9,1,0,4,6,1,0,5,6,1,0,40,45,1,0,46,
        50,1,0,37,38,1,0,30,34,1,0,28,36,1,0,27,36,3,0,1,4,13,14,18,36,332,
        0,47,1,0,0,0,2,83,1,0,0,0,4,85,1,0,0,0,6,88,1,0,0,0,8,96,1,0,0,0,
        10,98,1,0,0,0,12,122,1,0,0,0,14,136,1,0,0,0,16,165,1,0,0,0,18,167,
        1,0,0,0,20,172,1,0,0,0,22,183,1,0,0,0,24,200,1,0,0,0,26,221,1,0,
        0,0,28,223,1,0,0,0,30,267,1,0,0,0,32,276,1,0,0,0,34,287,1,0,0,0,
        36,289,1,0,0,0,38,294,1,0,0,0,40,297,1,0,0,0,42,299,1,0,0,0,44,46,
        3,2,1,0,45,44,1,0,0,0,46,49,1,0,0,0,47,45,1,0,0,0,47,48,1,0,0,0,
        48,50,1,0,0,0,49,47,1,0,0,0,50,51,5,0,0,1,51,1,1,0,0,0,52,53,5,3,
        0,0,53,54,5,39,0,0,54,84,5,58,0,0,55,56,3,4,2,0,56,57,5,52,0,0,57,
        62,3,6,3,0,58,59,5,56,0,0,59,61,3,6,3,0,60,58,1,0,0,0,61,64,1,0,
        0,0,62,60,1,0,0,0,62,63,1,0,0,0,63,65,1,0,0,0,64,62,1,0,0,0,65,69,
        5,53,0,0,66,68,3,8,4,0,67,66,1,0,0,0,68,71,1,0,0,0,69,67,1,0,0,0,
        69,70,1,0,0,0,70,72,1,0,0,0,71,69,1,0,0,0,72,73,5,58,0,0,73,84,1,
        0,0,0,74,78,3,10,5,0,75,77,3,16,8,0,76,75,1,0,0,0,77,80,1,0,0,0,
        78,76,1,0,0,0,78,79,1,0,0,0,79,81,1,0,0,0,80,78,1,0,0,0,81,82,5,
        58,0,0,82,84,1,0,0,0,83,52,1,0,0,0,83,55,1,0,0,0,83,74,1,0,0,0,84,
        3,1,0,0,0,85,86,5,1,0,0,86,87,3,40,20,0,87,5,1,0,0,0,88,89,3,42,
        21,0,89,90,3,40,20,0,90,7,1,0,0,0,91,92,5,27,0,0,92,93,5,29,0,0,
        93,97,3,42,21,0,94,95,5,28,0,0,95,97,3,38,19,0,96,91,1,0,0,0,96,
        94,1,0,0,0,97,9,1,0,0,0,98,99,5,2,0,0,99,100,3,40,20,0,100,101,3,
        12,6,0,101,11,1,0,0,0,102,103,7,0,0,0,103,104,5,52,0,0,104,109,3,
        12,6,0,105,106,5,56,0,0,106,108,3,12,6,0,107,105,1,0,0,0,108,111,
        1,0,0,0,109,107,1,0,0,0,109,110,1,0,0,0,110,112,1,0,0,0,111,109,
        1,0,0,0,112,113,5,53,0,0,113,123,1,0,0,0,114,115,5,7,0,0,115,123,
        3,12,6,0,116,118,3,40,20,0,117,119,3,14,7,0,118,117,1,0,0,0,118,
        119,1,0,0,0,119,120,1,0,0,0,120,121,3,40,20,0,121,123,1,0,0,0,122,
        102,1,0,0,0,122,114,1,0,0,0,122,116,1,0,0,0,123,13,1,0,0,0,124,137,
        5,46,0,0,125,137,5,48,0,0,126,137,5,51,0,0,127,128,5,54,0,0,128,
        133,5,37,0,0,129,131,5,56,0,0,130,132,5,37,0,0,131,130,1,0,0,0,131,
        132,1,0,0,0,132,134,1,0,0,0,133,129,1,0,0,0,133,134,1,0,0,0,134,
        135,1,0,0,0,135,137,5,55,0,0,136,124,1,0,0,0,136,125,1,0,0,0,136,
        126,1,0,0,0,136,127,1,0,0,0,137,15,1,0,0,0,138,139,5,8,0,0,139,166,
        3,20,10,0,140,141,5,9,0,0,141,142,5,29,0,0,142,147,3,42,21,0,143,
        144,5,56,0,0,144,146,3,42,21,0,145,143,1,0,0,0,146,149,1,0,0,0,147,
        145,1,0,0,0,147,148,1,0,0,0,148,166,1,0,0,0,149,147,1,0,0,0,150,
        151,5,10,0,0,151,166,3,38,19,0,152,166,5,11,0,0,153,155,5,12,0,0,
        154,156,5,13,0,0,155,154,1,0,0,0,155,156,1,0,0,0,156,157,1,0,0,0,
        157,162,3,18,9,0,158,159,5,56,0,0,159,161,3,18,9,0,160,158,1,0,0,
        0,161,164,1,0,0,0,162,160,1,0,0,0,162,163,1,0,0,0,163,166,1,0,0,
        0,164,162,1,0,0,0,165,138,1,0,0,0,165,140,1,0,0,0,165,150,1,0,0,
        0,165,152,1,0,0,0,165,153,1,0,0,0,166,17,1,0,0,0,167,170,3,20,10,
        0,168,169,5,14,0,0,169,171,3,42,21,0,170,168,1,0,0,0,170,171,1,0,
        0,0,171,19,1,0,0,0,172,177,3,22,11,0,173,174,7,1,0,0,174,176,3,22,
        11,0,175,173,1,0,0,0,176,179,1,0,0,0,177,175,1,0,0,0,177,178,1,0,
        0,0,178,21,1,0,0,0,179,177,1,0,0,0,180,182,5,7,0,0,181,180,1,0,0,
        0,182,185,1,0,0,0,183,181,1,0,0,0,183,184,1,0,0,0,184,186,1,0,0,
        0,185,183,1,0,0,0,186,188,3,28,14,0,187,189,3,24,12,0,188,187,1,
        0,0,0,188,189,1,0,0,0,189,23,1,0,0,0,190,191,7,2,0,0,191,201,3,28,
        14,0,192,194,5,18,0,0,193,195,5,7,0,0,194,193,1,0,0,0,194,195,1,
        0,0,0,195,196,1,0,0,0,196,201,5,19,0,0,197,198,5,7,0,0,198,201,3,
        26,13,0,199,201,3,26,13,0,200,190,1,0,0,0,200,192,1,0,0,0,200,197,
        1,0,0,0,200,199,1,0,0,0,201,25,1,0,0,0,202,203,5,15,0,0,203,204,
        5,52,0,0,204,209,3,20,10,0,205,206,5,56,0,0,206,208,3,20,10,0,207,
        205,1,0,0,0,208,211,1,0,0,0,209,207,1,0,0,0,209,210,1,0,0,0,210,
        212,1,0,0,0,211,209,1,0,0,0,212,213,5,53,0,0,213,222,1,0,0,0,214,
        215,5,16,0,0,215,216,3,28,14,0,216,217,5,5,0,0,217,218,3,28,14,0,
        218,222,1,0,0,0,219,220,5,17,0,0,220,222,3,28,14,0,221,202,1,0,0,
        0,221,214,1,0,0,0,221,219,1,0,0,0,222,27,1,0,0,0,223,228,3,30,15,
        0,224,225,7,3,0,0,225,227,3,30,15,0,226,224,1,0,0,0,227,230,1,0,
        0,0,228,226,1,0,0,0,228,229,1,0,0,0,229,29,1,0,0,0,230,228,1,0,0,
        0,231,232,5,47,0,0,232,268,3,30,15,0,233,234,5,52,0,0,234,235,3,
        20,10,0,235,236,5,53,0,0,236,268,1,0,0,0,237,239,7,4,0,0,238,240,
        7,5,0,0,239,238,1,0,0,0,239,240,1,0,0,0,240,268,1,0,0,0,241,268,
        5,39,0,0,242,268,5,20,0,0,243,268,5,21,0,0,244,268,5,19,0,0,245,
        247,5,22,0,0,246,248,3,20,10,0,247,246,1,0,0,0,247,248,1,0,0,0,248,
        250,1,0,0,0,249,251,3,36,18,0,250,249,1,0,0,0,251,252,1,0,0,0,252,
        250,1,0,0,0,252,253,1,0,0,0,253,256,1,0,0,0,254,255,5,25,0,0,255,
        257,3,20,10,0,256,254,1,0,0,0,256,257,1,0,0,0,257,258,1,0,0,0,258,
        259,5,26,0,0,259,268,1,0,0,0,260,263,5,27,0,0,261,264,5,39,0,0,262,
        264,3,32,16,0,263,261,1,0,0,0,263,262,1,0,0,0,264,268,1,0,0,0,265,
        266,7,6,0,0,266,268,3,32,16,0,267,231,1,0,0,0,267,233,1,0,0,0,267,
        237,1,0,0,0,267,241,1,0,0,0,267,242,1,0,0,0,267,243,1,0,0,0,267,
        244,1,0,0,0,267,245,1,0,0,0,267,260,1,0,0,0,267,265,1,0,0,0,268,
        31,1,0,0,0,269,270,5,57,0,0,270,277,3,42,21,0,271,273,5,52,0,0,272,
        274,3,34,17,0,273,272,1,0,0,0,273,274,1,0,0,0,274,275,1,0,0,0,275,
        277,5,53,0,0,276,269,1,0,0,0,276,271,1,0,0,0,277,33,1,0,0,0,278,
        288,5,48,0,0,279,284,3,20,10,0,280,281,5,56,0,0,281,283,3,20,10,
        0,282,280,1,0,0,0,283,286,1,0,0,0,284,282,1,0,0,0,284,285,1,0,0,
        0,285,288,1,0,0,0,286,284,1,0,0,0,287,278,1,0,0,0,287,279,1,0,0,
        0,288,35,1,0,0,0,289,290,5,23,0,0,290,291,3,20,10,0,291,292,5,24,
        0,0,292,293,3,20,10,0,293,37,1,0,0,0,294,295,7,4,0,0,295,296,7,5,
        0,0,296,39,1,0,0,0,297,298,7,7,0,0,298,41,1,0,0,0,299,300,7,8,0,
        0,300,43,1,0,0,0,35,47,62,69,78,83,96,109,118,122,131,133,136,147,
        155,162,165,170,177,183,188,194,200,209,221,228,239,247,252,256,
        263,267,273,276,284,287
    ]

class CepParser ( Parser ):

    grammarFileName = "CepParser.g4"

    atn = ATNDeserializer().deserialize(serializedATN())

    decisionsToDFA = [ DFA(ds, i) for i, ds in enumerate(atn.decisionToState) ]

    sharedContextCache = PredictionContextCache()

    literalNames = [ "<INVALID>", "'STREAM'", "'PATTERN'", "'IMPORT'", "'SEQ'", 
                     "'AND'", "'OR'", "'NOT'", "'WHERE'", "'PARTITION'", 
                     "'WITHIN'", "'UNBOUNDED'", "'RETURN'", "'DISTINCT'", 
                     "'AS'", "'IN'", "'BETWEEN'", "'LIKE'", "'IS'", "'NULL'", 
                     "'TRUE'", "'FALSE'", "'CASE'", "'WHEN'", "'THEN'", 
                     "'ELSE'", "'END'", "'TIMESTAMP'", "'WATERMARK'", "'BY'", 
                     "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>", 
                     "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>", 
                     "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>", 
                     "'<='", "'<'", "'>='", "'>'", "'+'", "'-'", "'*'", 
                     "'/'", "'%'", "'?'", "'('", "')'", "'{'", "'}'", "','", 
                     "'.'", "';'" ]

    symbolicNames = [ "<INVALID>", "STREAM", "PATTERN", "IMPORT", "SEQ", 
                      "AND", "OR", "NOT", "WHERE", "PARTITION", "WITHIN", 
                      "UNBOUNDED", "RETURN", "DISTINCT", "AS", "IN", "BETWEEN", 
                      "LIKE", "IS", "NULL", "TRUE", "FALSE", "CASE", "WHEN", 
                      "THEN", "ELSE", "END", "TIMESTAMP", "WATERMARK", "BY", 
                      "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", 
                      "IDENTIFIER", "QUOTED", "INTEGER", "DECIMAL", "STRING", 
                      "EQ", "NE", "LE", "LT", "GE", "GT", "PLUS", "MINUS", 
                      "STAR", "SLASH", "PERCENT", "QUESTION", "LPAREN", 
                      "RPAREN", "LBRACE", "RBRACE", "COMMA", "DOT", "SEMI", 
                      "LINE_COMMENT", "BLOCK_COMMENT", "SPACE", "WRONG_OPERATOR", 
                      "UNTERMINATED_STRING", "UNTERMINATED_QUOTED", "UNTERMINATED_COMMENT", 
                      "UNKNOWN" ]

    RULE_cepFile = 0
    RULE_statement = 1
    RULE_streamHead = 2
    RULE_column = 3
    RULE_streamClause = 4
    RULE_patternHead = 5
    RULE_body = 6
    RULE_quantifier = 7
    RULE_patternClause = 8
    RULE_returnItem = 9
    RULE_expression = 10
    RULE_condition = 11
    RULE_test = 12
    RULE_membership = 13
    RULE_value = 14
    RULE_primary = 15
    RULE_reference = 16
    RULE_arguments = 17
    RULE_when = 18
    RULE_duration = 19
    RULE_identifier = 20
    RULE_word = 21

    ruleNames =  [ "cepFile", "statement", "streamHead", "column", "streamClause", 
                   "patternHead", "body", "quantifier", "patternClause", 
                   "returnItem", "expression", "condition", "test", "membership", 
                   "value", "primary", "reference", "arguments", "when", 
                   "duration", "identifier", "word" ]

    EOF = Token.EOF
    STREAM=1
    PATTERN=2
    IMPORT=3
    SEQ=4
    AND=5
    OR=6
    NOT=7
    WHERE=8
    PARTITION=9
    WITHIN=10
    UNBOUNDED=11
    RETURN=12
    DISTINCT=13
    AS=14
    IN=15
    BETWEEN=16
    LIKE=17
    IS=18
    NULL=19
    TRUE=20
    FALSE=21
    CASE=22
    WHEN=23
    THEN=24
    ELSE=25
    END=26
    TIMESTAMP=27
    WATERMARK=28
    BY=29
    MILLISECOND=30
    SECOND=31
    MINUTE=32
    HOUR=33
    DAY=34
    IDENTIFIER=35
    QUOTED=36
    INTEGER=37
    DECIMAL=38
    STRING=39
    EQ=40
    NE=41
    LE=42
    LT=43
    GE=44
    GT=45
    PLUS=46
    MINUS=47
    STAR=48
    SLASH=49
    PERCENT=50
    QUESTION=51
    LPAREN=52
    RPAREN=53
    LBRACE=54
    RBRACE=55
    COMMA=56
    DOT=57
    SEMI=58
    LINE_COMMENT=59
    BLOCK_COMMENT=60
    SPACE=61
    WRONG_OPERATOR=62
    UNTERMINATED_STRING=63
    UNTERMINATED_QUOTED=64
    UNTERMINATED_COMMENT=65
    UNKNOWN=66

    def __init__(self, input:TokenStream, output:TextIO = sys.stdout):
        super().__init__(input, output)
        self.checkVersion("4.13.2")
        self._interp = ParserATNSimulator(self, self.atn, self.decisionsToDFA, self.sharedContextCache)
        self._predicates = None




    class CepFileContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser
            self._statement = None # StatementContext
            self.statements = list() # of StatementContexts

        def EOF(self):
            return self.getToken(CepParser.EOF, 0)

        def statement(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.StatementContext)
            else:
                return self.getTypedRuleContext(CepParser.StatementContext,i)


        def getRuleIndex(self):
            return CepParser.RULE_cepFile




    def cepFile(self):

        localctx = CepParser.CepFileContext(self, self._ctx, self.state)
        self.enterRule(localctx, 0, self.RULE_cepFile)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 47
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 14) != 0):
                self.state = 44
                localctx._statement = self.statement()
                localctx.statements.append(localctx._statement)
                self.state = 49
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 50
            self.match(CepParser.EOF)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class StatementContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return CepParser.RULE_statement

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class ImportStatementContext(StatementContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.StatementContext
            super().__init__(parser)
            self.path = None # Token
            self.copyFrom(ctx)

        def IMPORT(self):
            return self.getToken(CepParser.IMPORT, 0)
        def SEMI(self):
            return self.getToken(CepParser.SEMI, 0)
        def STRING(self):
            return self.getToken(CepParser.STRING, 0)


    class PatternStatementContext(StatementContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.StatementContext
            super().__init__(parser)
            self.head = None # PatternHeadContext
            self._patternClause = None # PatternClauseContext
            self.clauses = list() # of PatternClauseContexts
            self.copyFrom(ctx)

        def SEMI(self):
            return self.getToken(CepParser.SEMI, 0)
        def patternHead(self):
            return self.getTypedRuleContext(CepParser.PatternHeadContext,0)

        def patternClause(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.PatternClauseContext)
            else:
                return self.getTypedRuleContext(CepParser.PatternClauseContext,i)



    class StreamStatementContext(StatementContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.StatementContext
            super().__init__(parser)
            self.head = None # StreamHeadContext
            self._column = None # ColumnContext
            self.columns = list() # of ColumnContexts
            self._streamClause = None # StreamClauseContext
            self.clauses = list() # of StreamClauseContexts
            self.copyFrom(ctx)

        def LPAREN(self):
            return self.getToken(CepParser.LPAREN, 0)
        def RPAREN(self):
            return self.getToken(CepParser.RPAREN, 0)
        def SEMI(self):
            return self.getToken(CepParser.SEMI, 0)
        def streamHead(self):
            return self.getTypedRuleContext(CepParser.StreamHeadContext,0)

        def column(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.ColumnContext)
            else:
                return self.getTypedRuleContext(CepParser.ColumnContext,i)

        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.COMMA)
            else:
                return self.getToken(CepParser.COMMA, i)
        def streamClause(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.StreamClauseContext)
            else:
                return self.getTypedRuleContext(CepParser.StreamClauseContext,i)




    def statement(self):

        localctx = CepParser.StatementContext(self, self._ctx, self.state)
        self.enterRule(localctx, 2, self.RULE_statement)
        self._la = 0 # Token type
        try:
            self.state = 83
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [3]:
                localctx = CepParser.ImportStatementContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 52
                self.match(CepParser.IMPORT)
                self.state = 53
                localctx.path = self.match(CepParser.STRING)
                self.state = 54
                self.match(CepParser.SEMI)
                pass
            elif token in [1]:
                localctx = CepParser.StreamStatementContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 55
                localctx.head = self.streamHead()
                self.state = 56
                self.match(CepParser.LPAREN)
                self.state = 57
                localctx._column = self.column()
                localctx.columns.append(localctx._column)
                self.state = 62
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==56:
                    self.state = 58
                    self.match(CepParser.COMMA)
                    self.state = 59
                    localctx._column = self.column()
                    localctx.columns.append(localctx._column)
                    self.state = 64
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 65
                self.match(CepParser.RPAREN)
                self.state = 69
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==27 or _la==28:
                    self.state = 66
                    localctx._streamClause = self.streamClause()
                    localctx.clauses.append(localctx._streamClause)
                    self.state = 71
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 72
                self.match(CepParser.SEMI)
                pass
            elif token in [2]:
                localctx = CepParser.PatternStatementContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 74
                localctx.head = self.patternHead()
                self.state = 78
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while (((_la) & ~0x3f) == 0 and ((1 << _la) & 7936) != 0):
                    self.state = 75
                    localctx._patternClause = self.patternClause()
                    localctx.clauses.append(localctx._patternClause)
                    self.state = 80
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 81
                self.match(CepParser.SEMI)
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class StreamHeadContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser
            self.name = None # IdentifierContext

        def STREAM(self):
            return self.getToken(CepParser.STREAM, 0)

        def identifier(self):
            return self.getTypedRuleContext(CepParser.IdentifierContext,0)


        def getRuleIndex(self):
            return CepParser.RULE_streamHead




    def streamHead(self):

        localctx = CepParser.StreamHeadContext(self, self._ctx, self.state)
        self.enterRule(localctx, 4, self.RULE_streamHead)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 85
            self.match(CepParser.STREAM)
            self.state = 86
            localctx.name = self.identifier()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ColumnContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser
            self.name = None # WordContext
            self.type_ = None # IdentifierContext

        def word(self):
            return self.getTypedRuleContext(CepParser.WordContext,0)


        def identifier(self):
            return self.getTypedRuleContext(CepParser.IdentifierContext,0)


        def getRuleIndex(self):
            return CepParser.RULE_column




    def column(self):

        localctx = CepParser.ColumnContext(self, self._ctx, self.state)
        self.enterRule(localctx, 6, self.RULE_column)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 88
            localctx.name = self.word()
            self.state = 89
            localctx.type_ = self.identifier()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class StreamClauseContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return CepParser.RULE_streamClause

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class TimestampClauseContext(StreamClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.StreamClauseContext
            super().__init__(parser)
            self.key = None # WordContext
            self.copyFrom(ctx)

        def TIMESTAMP(self):
            return self.getToken(CepParser.TIMESTAMP, 0)
        def BY(self):
            return self.getToken(CepParser.BY, 0)
        def word(self):
            return self.getTypedRuleContext(CepParser.WordContext,0)



    class WatermarkClauseContext(StreamClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.StreamClauseContext
            super().__init__(parser)
            self.length = None # DurationContext
            self.copyFrom(ctx)

        def WATERMARK(self):
            return self.getToken(CepParser.WATERMARK, 0)
        def duration(self):
            return self.getTypedRuleContext(CepParser.DurationContext,0)




    def streamClause(self):

        localctx = CepParser.StreamClauseContext(self, self._ctx, self.state)
        self.enterRule(localctx, 8, self.RULE_streamClause)
        try:
            self.state = 96
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [27]:
                localctx = CepParser.TimestampClauseContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 91
                self.match(CepParser.TIMESTAMP)
                self.state = 92
                self.match(CepParser.BY)
                self.state = 93
                localctx.key = self.word()
                pass
            elif token in [28]:
                localctx = CepParser.WatermarkClauseContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 94
                self.match(CepParser.WATERMARK)
                self.state = 95
                localctx.length = self.duration()
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class PatternHeadContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser
            self.name = None # IdentifierContext
            self.what = None # BodyContext

        def PATTERN(self):
            return self.getToken(CepParser.PATTERN, 0)

        def identifier(self):
            return self.getTypedRuleContext(CepParser.IdentifierContext,0)


        def body(self):
            return self.getTypedRuleContext(CepParser.BodyContext,0)


        def getRuleIndex(self):
            return CepParser.RULE_patternHead




    def patternHead(self):

        localctx = CepParser.PatternHeadContext(self, self._ctx, self.state)
        self.enterRule(localctx, 10, self.RULE_patternHead)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 98
            self.match(CepParser.PATTERN)
            self.state = 99
            localctx.name = self.identifier()
            self.state = 100
            localctx.what = self.body()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class BodyContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return CepParser.RULE_body

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class AbsenceContext(BodyContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.BodyContext
            super().__init__(parser)
            self.item = None # BodyContext
            self.copyFrom(ctx)

        def NOT(self):
            return self.getToken(CepParser.NOT, 0)
        def body(self):
            return self.getTypedRuleContext(CepParser.BodyContext,0)



    class StepContext(BodyContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.BodyContext
            super().__init__(parser)
            self.stream = None # IdentifierContext
            self.repeat = None # QuantifierContext
            self.var = None # IdentifierContext
            self.copyFrom(ctx)

        def identifier(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.IdentifierContext)
            else:
                return self.getTypedRuleContext(CepParser.IdentifierContext,i)

        def quantifier(self):
            return self.getTypedRuleContext(CepParser.QuantifierContext,0)



    class GroupContext(BodyContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.BodyContext
            super().__init__(parser)
            self.operator = None # Token
            self._body = None # BodyContext
            self.items = list() # of BodyContexts
            self.copyFrom(ctx)

        def LPAREN(self):
            return self.getToken(CepParser.LPAREN, 0)
        def RPAREN(self):
            return self.getToken(CepParser.RPAREN, 0)
        def body(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.BodyContext)
            else:
                return self.getTypedRuleContext(CepParser.BodyContext,i)

        def SEQ(self):
            return self.getToken(CepParser.SEQ, 0)
        def AND(self):
            return self.getToken(CepParser.AND, 0)
        def OR(self):
            return self.getToken(CepParser.OR, 0)
        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.COMMA)
            else:
                return self.getToken(CepParser.COMMA, i)



    def body(self):

        localctx = CepParser.BodyContext(self, self._ctx, self.state)
        self.enterRule(localctx, 12, self.RULE_body)
        self._la = 0 # Token type
        try:
            self.state = 122
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [4, 5, 6]:
                localctx = CepParser.GroupContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 102
                localctx.operator = self._input.LT(1)
                _la = self._input.LA(1)
                if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 112) != 0)):
                    localctx.operator = self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                self.state = 103
                self.match(CepParser.LPAREN)
                self.state = 104
                localctx._body = self.body()
                localctx.items.append(localctx._body)
                self.state = 109
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==56:
                    self.state = 105
                    self.match(CepParser.COMMA)
                    self.state = 106
                    localctx._body = self.body()
                    localctx.items.append(localctx._body)
                    self.state = 111
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 112
                self.match(CepParser.RPAREN)
                pass
            elif token in [7]:
                localctx = CepParser.AbsenceContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 114
                self.match(CepParser.NOT)
                self.state = 115
                localctx.item = self.body()
                pass
            elif token in [27, 28, 29, 30, 31, 32, 33, 34, 35, 36]:
                localctx = CepParser.StepContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 116
                localctx.stream = self.identifier()
                self.state = 118
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if (((_la) & ~0x3f) == 0 and ((1 << _la) & 20618042044055552) != 0):
                    self.state = 117
                    localctx.repeat = self.quantifier()


                self.state = 120
                localctx.var = self.identifier()
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class QuantifierContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return CepParser.RULE_quantifier

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class OneOrMoreContext(QuantifierContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.QuantifierContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def PLUS(self):
            return self.getToken(CepParser.PLUS, 0)


    class ZeroOrMoreContext(QuantifierContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.QuantifierContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def STAR(self):
            return self.getToken(CepParser.STAR, 0)


    class ZeroOrOneContext(QuantifierContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.QuantifierContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def QUESTION(self):
            return self.getToken(CepParser.QUESTION, 0)


    class CountedContext(QuantifierContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.QuantifierContext
            super().__init__(parser)
            self.least = None # Token
            self.upTo = None # Token
            self.most = None # Token
            self.copyFrom(ctx)

        def LBRACE(self):
            return self.getToken(CepParser.LBRACE, 0)
        def RBRACE(self):
            return self.getToken(CepParser.RBRACE, 0)
        def INTEGER(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.INTEGER)
            else:
                return self.getToken(CepParser.INTEGER, i)
        def COMMA(self):
            return self.getToken(CepParser.COMMA, 0)



    def quantifier(self):

        localctx = CepParser.QuantifierContext(self, self._ctx, self.state)
        self.enterRule(localctx, 14, self.RULE_quantifier)
        self._la = 0 # Token type
        try:
            self.state = 136
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [46]:
                localctx = CepParser.OneOrMoreContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 124
                self.match(CepParser.PLUS)
                pass
            elif token in [48]:
                localctx = CepParser.ZeroOrMoreContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 125
                self.match(CepParser.STAR)
                pass
            elif token in [51]:
                localctx = CepParser.ZeroOrOneContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 126
                self.match(CepParser.QUESTION)
                pass
            elif token in [54]:
                localctx = CepParser.CountedContext(self, localctx)
                self.enterOuterAlt(localctx, 4)
                self.state = 127
                self.match(CepParser.LBRACE)
                self.state = 128
                localctx.least = self.match(CepParser.INTEGER)
                self.state = 133
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==56:
                    self.state = 129
                    localctx.upTo = self.match(CepParser.COMMA)
                    self.state = 131
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    if _la==37:
                        self.state = 130
                        localctx.most = self.match(CepParser.INTEGER)




                self.state = 135
                self.match(CepParser.RBRACE)
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class PatternClauseContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return CepParser.RULE_patternClause

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class WhereClauseContext(PatternClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PatternClauseContext
            super().__init__(parser)
            self.condition_ = None # ExpressionContext
            self.copyFrom(ctx)

        def WHERE(self):
            return self.getToken(CepParser.WHERE, 0)
        def expression(self):
            return self.getTypedRuleContext(CepParser.ExpressionContext,0)



    class PartitionClauseContext(PatternClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PatternClauseContext
            super().__init__(parser)
            self._word = None # WordContext
            self.keys = list() # of WordContexts
            self.copyFrom(ctx)

        def PARTITION(self):
            return self.getToken(CepParser.PARTITION, 0)
        def BY(self):
            return self.getToken(CepParser.BY, 0)
        def word(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.WordContext)
            else:
                return self.getTypedRuleContext(CepParser.WordContext,i)

        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.COMMA)
            else:
                return self.getToken(CepParser.COMMA, i)


    class ReturnClauseContext(PatternClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PatternClauseContext
            super().__init__(parser)
            self.distinct = None # Token
            self._returnItem = None # ReturnItemContext
            self.items = list() # of ReturnItemContexts
            self.copyFrom(ctx)

        def RETURN(self):
            return self.getToken(CepParser.RETURN, 0)
        def returnItem(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.ReturnItemContext)
            else:
                return self.getTypedRuleContext(CepParser.ReturnItemContext,i)

        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.COMMA)
            else:
                return self.getToken(CepParser.COMMA, i)
        def DISTINCT(self):
            return self.getToken(CepParser.DISTINCT, 0)


    class WithinClauseContext(PatternClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PatternClauseContext
            super().__init__(parser)
            self.length = None # DurationContext
            self.copyFrom(ctx)

        def WITHIN(self):
            return self.getToken(CepParser.WITHIN, 0)
        def duration(self):
            return self.getTypedRuleContext(CepParser.DurationContext,0)



    class UnboundedClauseContext(PatternClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PatternClauseContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def UNBOUNDED(self):
            return self.getToken(CepParser.UNBOUNDED, 0)



    def patternClause(self):

        localctx = CepParser.PatternClauseContext(self, self._ctx, self.state)
        self.enterRule(localctx, 16, self.RULE_patternClause)
        self._la = 0 # Token type
        try:
            self.state = 165
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [8]:
                localctx = CepParser.WhereClauseContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 138
                self.match(CepParser.WHERE)
                self.state = 139
                localctx.condition_ = self.expression()
                pass
            elif token in [9]:
                localctx = CepParser.PartitionClauseContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 140
                self.match(CepParser.PARTITION)
                self.state = 141
                self.match(CepParser.BY)
                self.state = 142
                localctx._word = self.word()
                localctx.keys.append(localctx._word)
                self.state = 147
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==56:
                    self.state = 143
                    self.match(CepParser.COMMA)
                    self.state = 144
                    localctx._word = self.word()
                    localctx.keys.append(localctx._word)
                    self.state = 149
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            elif token in [10]:
                localctx = CepParser.WithinClauseContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 150
                self.match(CepParser.WITHIN)
                self.state = 151
                localctx.length = self.duration()
                pass
            elif token in [11]:
                localctx = CepParser.UnboundedClauseContext(self, localctx)
                self.enterOuterAlt(localctx, 4)
                self.state = 152
                self.match(CepParser.UNBOUNDED)
                pass
            elif token in [12]:
                localctx = CepParser.ReturnClauseContext(self, localctx)
                self.enterOuterAlt(localctx, 5)
                self.state = 153
                self.match(CepParser.RETURN)
                self.state = 155
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==13:
                    self.state = 154
                    localctx.distinct = self.match(CepParser.DISTINCT)


                self.state = 157
                localctx._returnItem = self.returnItem()
                localctx.items.append(localctx._returnItem)
                self.state = 162
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==56:
                    self.state = 158
                    self.match(CepParser.COMMA)
                    self.state = 159
                    localctx._returnItem = self.returnItem()
                    localctx.items.append(localctx._returnItem)
                    self.state = 164
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ReturnItemContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser
            self.what = None # ExpressionContext
            self.alias = None # WordContext

        def expression(self):
            return self.getTypedRuleContext(CepParser.ExpressionContext,0)


        def AS(self):
            return self.getToken(CepParser.AS, 0)

        def word(self):
            return self.getTypedRuleContext(CepParser.WordContext,0)


        def getRuleIndex(self):
            return CepParser.RULE_returnItem




    def returnItem(self):

        localctx = CepParser.ReturnItemContext(self, self._ctx, self.state)
        self.enterRule(localctx, 18, self.RULE_returnItem)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 167
            localctx.what = self.expression()
            self.state = 170
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==14:
                self.state = 168
                self.match(CepParser.AS)
                self.state = 169
                localctx.alias = self.word()


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ExpressionContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser
            self._condition = None # ConditionContext
            self.terms = list() # of ConditionContexts
            self._AND = None # Token
            self.operators = list() # of Tokens
            self._OR = None # Token
            self._tset431 = None # Token

        def condition(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.ConditionContext)
            else:
                return self.getTypedRuleContext(CepParser.ConditionContext,i)


        def AND(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.AND)
            else:
                return self.getToken(CepParser.AND, i)

        def OR(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.OR)
            else:
                return self.getToken(CepParser.OR, i)

        def getRuleIndex(self):
            return CepParser.RULE_expression




    def expression(self):

        localctx = CepParser.ExpressionContext(self, self._ctx, self.state)
        self.enterRule(localctx, 20, self.RULE_expression)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 172
            localctx._condition = self.condition()
            localctx.terms.append(localctx._condition)
            self.state = 177
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==5 or _la==6:
                self.state = 173
                localctx._tset431 = self._input.LT(1)
                _la = self._input.LA(1)
                if not(_la==5 or _la==6):
                    localctx._tset431 = self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                localctx.operators.append(localctx._tset431)
                self.state = 174
                localctx._condition = self.condition()
                localctx.terms.append(localctx._condition)
                self.state = 179
                self._errHandler.sync(self)
                _la = self._input.LA(1)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ConditionContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser
            self._NOT = None # Token
            self.negations = list() # of Tokens
            self.operand = None # ValueContext
            self.test_ = None # TestContext

        def value(self):
            return self.getTypedRuleContext(CepParser.ValueContext,0)


        def NOT(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.NOT)
            else:
                return self.getToken(CepParser.NOT, i)

        def test(self):
            return self.getTypedRuleContext(CepParser.TestContext,0)


        def getRuleIndex(self):
            return CepParser.RULE_condition




    def condition(self):

        localctx = CepParser.ConditionContext(self, self._ctx, self.state)
        self.enterRule(localctx, 22, self.RULE_condition)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 183
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==7:
                self.state = 180
                localctx._NOT = self.match(CepParser.NOT)
                localctx.negations.append(localctx._NOT)
                self.state = 185
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 186
            localctx.operand = self.value()
            self.state = 188
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if (((_la) & ~0x3f) == 0 and ((1 << _la) & 69269233041536) != 0):
                self.state = 187
                localctx.test_ = self.test()


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class TestContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return CepParser.RULE_test

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class PositiveTestContext(TestContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.TestContext
            super().__init__(parser)
            self.positive = None # MembershipContext
            self.copyFrom(ctx)

        def membership(self):
            return self.getTypedRuleContext(CepParser.MembershipContext,0)



    class ComparisonContext(TestContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.TestContext
            super().__init__(parser)
            self.operator = None # Token
            self.right = None # ValueContext
            self.copyFrom(ctx)

        def value(self):
            return self.getTypedRuleContext(CepParser.ValueContext,0)

        def EQ(self):
            return self.getToken(CepParser.EQ, 0)
        def NE(self):
            return self.getToken(CepParser.NE, 0)
        def LT(self):
            return self.getToken(CepParser.LT, 0)
        def LE(self):
            return self.getToken(CepParser.LE, 0)
        def GT(self):
            return self.getToken(CepParser.GT, 0)
        def GE(self):
            return self.getToken(CepParser.GE, 0)


    class NullTestContext(TestContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.TestContext
            super().__init__(parser)
            self.negated = None # Token
            self.copyFrom(ctx)

        def IS(self):
            return self.getToken(CepParser.IS, 0)
        def NULL(self):
            return self.getToken(CepParser.NULL, 0)
        def NOT(self):
            return self.getToken(CepParser.NOT, 0)


    class NegatedTestContext(TestContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.TestContext
            super().__init__(parser)
            self.positive = None # MembershipContext
            self.copyFrom(ctx)

        def NOT(self):
            return self.getToken(CepParser.NOT, 0)
        def membership(self):
            return self.getTypedRuleContext(CepParser.MembershipContext,0)




    def test(self):

        localctx = CepParser.TestContext(self, self._ctx, self.state)
        self.enterRule(localctx, 24, self.RULE_test)
        self._la = 0 # Token type
        try:
            self.state = 200
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [40, 41, 42, 43, 44, 45]:
                localctx = CepParser.ComparisonContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 190
                localctx.operator = self._input.LT(1)
                _la = self._input.LA(1)
                if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 69269232549888) != 0)):
                    localctx.operator = self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                self.state = 191
                localctx.right = self.value()
                pass
            elif token in [18]:
                localctx = CepParser.NullTestContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 192
                self.match(CepParser.IS)
                self.state = 194
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==7:
                    self.state = 193
                    localctx.negated = self.match(CepParser.NOT)


                self.state = 196
                self.match(CepParser.NULL)
                pass
            elif token in [7]:
                localctx = CepParser.NegatedTestContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 197
                self.match(CepParser.NOT)
                self.state = 198
                localctx.positive = self.membership()
                pass
            elif token in [15, 16, 17]:
                localctx = CepParser.PositiveTestContext(self, localctx)
                self.enterOuterAlt(localctx, 4)
                self.state = 199
                localctx.positive = self.membership()
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class MembershipContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return CepParser.RULE_membership

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class LikeContext(MembershipContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.MembershipContext
            super().__init__(parser)
            self.like = None # ValueContext
            self.copyFrom(ctx)

        def LIKE(self):
            return self.getToken(CepParser.LIKE, 0)
        def value(self):
            return self.getTypedRuleContext(CepParser.ValueContext,0)



    class InListContext(MembershipContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.MembershipContext
            super().__init__(parser)
            self._expression = None # ExpressionContext
            self.items = list() # of ExpressionContexts
            self.copyFrom(ctx)

        def IN(self):
            return self.getToken(CepParser.IN, 0)
        def LPAREN(self):
            return self.getToken(CepParser.LPAREN, 0)
        def RPAREN(self):
            return self.getToken(CepParser.RPAREN, 0)
        def expression(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.ExpressionContext)
            else:
                return self.getTypedRuleContext(CepParser.ExpressionContext,i)

        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.COMMA)
            else:
                return self.getToken(CepParser.COMMA, i)


    class BetweenContext(MembershipContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.MembershipContext
            super().__init__(parser)
            self.low = None # ValueContext
            self.high = None # ValueContext
            self.copyFrom(ctx)

        def BETWEEN(self):
            return self.getToken(CepParser.BETWEEN, 0)
        def AND(self):
            return self.getToken(CepParser.AND, 0)
        def value(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.ValueContext)
            else:
                return self.getTypedRuleContext(CepParser.ValueContext,i)




    def membership(self):

        localctx = CepParser.MembershipContext(self, self._ctx, self.state)
        self.enterRule(localctx, 26, self.RULE_membership)
        self._la = 0 # Token type
        try:
            self.state = 221
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [15]:
                localctx = CepParser.InListContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 202
                self.match(CepParser.IN)
                self.state = 203
                self.match(CepParser.LPAREN)
                self.state = 204
                localctx._expression = self.expression()
                localctx.items.append(localctx._expression)
                self.state = 209
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==56:
                    self.state = 205
                    self.match(CepParser.COMMA)
                    self.state = 206
                    localctx._expression = self.expression()
                    localctx.items.append(localctx._expression)
                    self.state = 211
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 212
                self.match(CepParser.RPAREN)
                pass
            elif token in [16]:
                localctx = CepParser.BetweenContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 214
                self.match(CepParser.BETWEEN)
                self.state = 215
                localctx.low = self.value()
                self.state = 216
                self.match(CepParser.AND)
                self.state = 217
                localctx.high = self.value()
                pass
            elif token in [17]:
                localctx = CepParser.LikeContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 219
                self.match(CepParser.LIKE)
                self.state = 220
                localctx.like = self.value()
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ValueContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser
            self._primary = None # PrimaryContext
            self.operands = list() # of PrimaryContexts
            self._PLUS = None # Token
            self.operators = list() # of Tokens
            self._MINUS = None # Token
            self._STAR = None # Token
            self._SLASH = None # Token
            self._PERCENT = None # Token
            self._tset614 = None # Token

        def primary(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.PrimaryContext)
            else:
                return self.getTypedRuleContext(CepParser.PrimaryContext,i)


        def PLUS(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.PLUS)
            else:
                return self.getToken(CepParser.PLUS, i)

        def MINUS(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.MINUS)
            else:
                return self.getToken(CepParser.MINUS, i)

        def STAR(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.STAR)
            else:
                return self.getToken(CepParser.STAR, i)

        def SLASH(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.SLASH)
            else:
                return self.getToken(CepParser.SLASH, i)

        def PERCENT(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.PERCENT)
            else:
                return self.getToken(CepParser.PERCENT, i)

        def getRuleIndex(self):
            return CepParser.RULE_value




    def value(self):

        localctx = CepParser.ValueContext(self, self._ctx, self.state)
        self.enterRule(localctx, 28, self.RULE_value)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 223
            localctx._primary = self.primary()
            localctx.operands.append(localctx._primary)
            self.state = 228
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 2181431069507584) != 0):
                self.state = 224
                localctx._tset614 = self._input.LT(1)
                _la = self._input.LA(1)
                if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 2181431069507584) != 0)):
                    localctx._tset614 = self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                localctx.operators.append(localctx._tset614)
                self.state = 225
                localctx._primary = self.primary()
                localctx.operands.append(localctx._primary)
                self.state = 230
                self._errHandler.sync(self)
                _la = self._input.LA(1)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class PrimaryContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return CepParser.RULE_primary

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class NumberContext(PrimaryContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PrimaryContext
            super().__init__(parser)
            self.number = None # Token
            self.unit = None # Token
            self.copyFrom(ctx)

        def INTEGER(self):
            return self.getToken(CepParser.INTEGER, 0)
        def DECIMAL(self):
            return self.getToken(CepParser.DECIMAL, 0)
        def MILLISECOND(self):
            return self.getToken(CepParser.MILLISECOND, 0)
        def SECOND(self):
            return self.getToken(CepParser.SECOND, 0)
        def MINUTE(self):
            return self.getToken(CepParser.MINUTE, 0)
        def HOUR(self):
            return self.getToken(CepParser.HOUR, 0)
        def DAY(self):
            return self.getToken(CepParser.DAY, 0)


    class NegativeContext(PrimaryContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PrimaryContext
            super().__init__(parser)
            self.operand = None # PrimaryContext
            self.copyFrom(ctx)

        def MINUS(self):
            return self.getToken(CepParser.MINUS, 0)
        def primary(self):
            return self.getTypedRuleContext(CepParser.PrimaryContext,0)



    class NamedContext(PrimaryContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PrimaryContext
            super().__init__(parser)
            self.name = None # Token
            self.use = None # ReferenceContext
            self.copyFrom(ctx)

        def reference(self):
            return self.getTypedRuleContext(CepParser.ReferenceContext,0)

        def IDENTIFIER(self):
            return self.getToken(CepParser.IDENTIFIER, 0)
        def QUOTED(self):
            return self.getToken(CepParser.QUOTED, 0)
        def WATERMARK(self):
            return self.getToken(CepParser.WATERMARK, 0)
        def BY(self):
            return self.getToken(CepParser.BY, 0)
        def MILLISECOND(self):
            return self.getToken(CepParser.MILLISECOND, 0)
        def SECOND(self):
            return self.getToken(CepParser.SECOND, 0)
        def MINUTE(self):
            return self.getToken(CepParser.MINUTE, 0)
        def HOUR(self):
            return self.getToken(CepParser.HOUR, 0)
        def DAY(self):
            return self.getToken(CepParser.DAY, 0)


    class NullLiteralContext(PrimaryContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PrimaryContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def NULL(self):
            return self.getToken(CepParser.NULL, 0)


    class StringContext(PrimaryContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PrimaryContext
            super().__init__(parser)
            self.string = None # Token
            self.copyFrom(ctx)

        def STRING(self):
            return self.getToken(CepParser.STRING, 0)


    class FalseLiteralContext(PrimaryContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PrimaryContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def FALSE(self):
            return self.getToken(CepParser.FALSE, 0)


    class CaseExpressionContext(PrimaryContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PrimaryContext
            super().__init__(parser)
            self.operand_ = None # ExpressionContext
            self._when = None # WhenContext
            self.whens = list() # of WhenContexts
            self.otherwise = None # ExpressionContext
            self.copyFrom(ctx)

        def CASE(self):
            return self.getToken(CepParser.CASE, 0)
        def END(self):
            return self.getToken(CepParser.END, 0)
        def ELSE(self):
            return self.getToken(CepParser.ELSE, 0)
        def expression(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.ExpressionContext)
            else:
                return self.getTypedRuleContext(CepParser.ExpressionContext,i)

        def when(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.WhenContext)
            else:
                return self.getTypedRuleContext(CepParser.WhenContext,i)



    class TrueLiteralContext(PrimaryContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PrimaryContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def TRUE(self):
            return self.getToken(CepParser.TRUE, 0)


    class ParenthesisContext(PrimaryContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PrimaryContext
            super().__init__(parser)
            self.inner = None # ExpressionContext
            self.copyFrom(ctx)

        def LPAREN(self):
            return self.getToken(CepParser.LPAREN, 0)
        def RPAREN(self):
            return self.getToken(CepParser.RPAREN, 0)
        def expression(self):
            return self.getTypedRuleContext(CepParser.ExpressionContext,0)



    class TimestampContext(PrimaryContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.PrimaryContext
            super().__init__(parser)
            self.keyword = None # Token
            self.string = None # Token
            self.use = None # ReferenceContext
            self.copyFrom(ctx)

        def TIMESTAMP(self):
            return self.getToken(CepParser.TIMESTAMP, 0)
        def STRING(self):
            return self.getToken(CepParser.STRING, 0)
        def reference(self):
            return self.getTypedRuleContext(CepParser.ReferenceContext,0)




    def primary(self):

        localctx = CepParser.PrimaryContext(self, self._ctx, self.state)
        self.enterRule(localctx, 30, self.RULE_primary)
        self._la = 0 # Token type
        try:
            self.state = 267
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [47]:
                localctx = CepParser.NegativeContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 231
                self.match(CepParser.MINUS)
                self.state = 232
                localctx.operand = self.primary()
                pass
            elif token in [52]:
                localctx = CepParser.ParenthesisContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 233
                self.match(CepParser.LPAREN)
                self.state = 234
                localctx.inner = self.expression()
                self.state = 235
                self.match(CepParser.RPAREN)
                pass
            elif token in [37, 38]:
                localctx = CepParser.NumberContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 237
                localctx.number = self._input.LT(1)
                _la = self._input.LA(1)
                if not(_la==37 or _la==38):
                    localctx.number = self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                self.state = 239
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if (((_la) & ~0x3f) == 0 and ((1 << _la) & 33285996544) != 0):
                    self.state = 238
                    localctx.unit = self._input.LT(1)
                    _la = self._input.LA(1)
                    if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 33285996544) != 0)):
                        localctx.unit = self._errHandler.recoverInline(self)
                    else:
                        self._errHandler.reportMatch(self)
                        self.consume()


                pass
            elif token in [39]:
                localctx = CepParser.StringContext(self, localctx)
                self.enterOuterAlt(localctx, 4)
                self.state = 241
                localctx.string = self.match(CepParser.STRING)
                pass
            elif token in [20]:
                localctx = CepParser.TrueLiteralContext(self, localctx)
                self.enterOuterAlt(localctx, 5)
                self.state = 242
                self.match(CepParser.TRUE)
                pass
            elif token in [21]:
                localctx = CepParser.FalseLiteralContext(self, localctx)
                self.enterOuterAlt(localctx, 6)
                self.state = 243
                self.match(CepParser.FALSE)
                pass
            elif token in [19]:
                localctx = CepParser.NullLiteralContext(self, localctx)
                self.enterOuterAlt(localctx, 7)
                self.state = 244
                self.match(CepParser.NULL)
                pass
            elif token in [22]:
                localctx = CepParser.CaseExpressionContext(self, localctx)
                self.enterOuterAlt(localctx, 8)
                self.state = 245
                self.match(CepParser.CASE)
                self.state = 247
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if (((_la) & ~0x3f) == 0 and ((1 << _la) & 4645436501000320) != 0):
                    self.state = 246
                    localctx.operand_ = self.expression()


                self.state = 250 
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while True:
                    self.state = 249
                    localctx._when = self.when()
                    localctx.whens.append(localctx._when)
                    self.state = 252 
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    if not (_la==23):
                        break

                self.state = 256
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==25:
                    self.state = 254
                    self.match(CepParser.ELSE)
                    self.state = 255
                    localctx.otherwise = self.expression()


                self.state = 258
                self.match(CepParser.END)
                pass
            elif token in [27]:
                localctx = CepParser.TimestampContext(self, localctx)
                self.enterOuterAlt(localctx, 9)
                self.state = 260
                localctx.keyword = self.match(CepParser.TIMESTAMP)
                self.state = 263
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [39]:
                    self.state = 261
                    localctx.string = self.match(CepParser.STRING)
                    pass
                elif token in [52, 57]:
                    self.state = 262
                    localctx.use = self.reference()
                    pass
                else:
                    raise NoViableAltException(self)

                pass
            elif token in [28, 29, 30, 31, 32, 33, 34, 35, 36]:
                localctx = CepParser.NamedContext(self, localctx)
                self.enterOuterAlt(localctx, 10)
                self.state = 265
                localctx.name = self._input.LT(1)
                _la = self._input.LA(1)
                if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 137170518016) != 0)):
                    localctx.name = self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                self.state = 266
                localctx.use = self.reference()
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ReferenceContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return CepParser.RULE_reference

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class CallContext(ReferenceContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.ReferenceContext
            super().__init__(parser)
            self.args_ = None # ArgumentsContext
            self.copyFrom(ctx)

        def LPAREN(self):
            return self.getToken(CepParser.LPAREN, 0)
        def RPAREN(self):
            return self.getToken(CepParser.RPAREN, 0)
        def arguments(self):
            return self.getTypedRuleContext(CepParser.ArgumentsContext,0)



    class AttributeContext(ReferenceContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.ReferenceContext
            super().__init__(parser)
            self.attribute_ = None # WordContext
            self.copyFrom(ctx)

        def DOT(self):
            return self.getToken(CepParser.DOT, 0)
        def word(self):
            return self.getTypedRuleContext(CepParser.WordContext,0)




    def reference(self):

        localctx = CepParser.ReferenceContext(self, self._ctx, self.state)
        self.enterRule(localctx, 32, self.RULE_reference)
        self._la = 0 # Token type
        try:
            self.state = 276
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [57]:
                localctx = CepParser.AttributeContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 269
                self.match(CepParser.DOT)
                self.state = 270
                localctx.attribute_ = self.word()
                pass
            elif token in [52]:
                localctx = CepParser.CallContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 271
                self.match(CepParser.LPAREN)
                self.state = 273
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if (((_la) & ~0x3f) == 0 and ((1 << _la) & 4926911477710976) != 0):
                    self.state = 272
                    localctx.args_ = self.arguments()


                self.state = 275
                self.match(CepParser.RPAREN)
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ArgumentsContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return CepParser.RULE_arguments

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class StarContext(ArgumentsContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.ArgumentsContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def STAR(self):
            return self.getToken(CepParser.STAR, 0)


    class ListContext(ArgumentsContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a CepParser.ArgumentsContext
            super().__init__(parser)
            self._expression = None # ExpressionContext
            self.items = list() # of ExpressionContexts
            self.copyFrom(ctx)

        def expression(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.ExpressionContext)
            else:
                return self.getTypedRuleContext(CepParser.ExpressionContext,i)

        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(CepParser.COMMA)
            else:
                return self.getToken(CepParser.COMMA, i)



    def arguments(self):

        localctx = CepParser.ArgumentsContext(self, self._ctx, self.state)
        self.enterRule(localctx, 34, self.RULE_arguments)
        self._la = 0 # Token type
        try:
            self.state = 287
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [48]:
                localctx = CepParser.StarContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 278
                self.match(CepParser.STAR)
                pass
            elif token in [7, 19, 20, 21, 22, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 47, 52]:
                localctx = CepParser.ListContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 279
                localctx._expression = self.expression()
                localctx.items.append(localctx._expression)
                self.state = 284
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==56:
                    self.state = 280
                    self.match(CepParser.COMMA)
                    self.state = 281
                    localctx._expression = self.expression()
                    localctx.items.append(localctx._expression)
                    self.state = 286
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class WhenContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser
            self.condition_ = None # ExpressionContext
            self.result = None # ExpressionContext

        def WHEN(self):
            return self.getToken(CepParser.WHEN, 0)

        def THEN(self):
            return self.getToken(CepParser.THEN, 0)

        def expression(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(CepParser.ExpressionContext)
            else:
                return self.getTypedRuleContext(CepParser.ExpressionContext,i)


        def getRuleIndex(self):
            return CepParser.RULE_when




    def when(self):

        localctx = CepParser.WhenContext(self, self._ctx, self.state)
        self.enterRule(localctx, 36, self.RULE_when)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 289
            self.match(CepParser.WHEN)
            self.state = 290
            localctx.condition_ = self.expression()
            self.state = 291
            self.match(CepParser.THEN)
            self.state = 292
            localctx.result = self.expression()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class DurationContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser
            self.number = None # Token
            self.unit = None # Token

        def INTEGER(self):
            return self.getToken(CepParser.INTEGER, 0)

        def DECIMAL(self):
            return self.getToken(CepParser.DECIMAL, 0)

        def MILLISECOND(self):
            return self.getToken(CepParser.MILLISECOND, 0)

        def SECOND(self):
            return self.getToken(CepParser.SECOND, 0)

        def MINUTE(self):
            return self.getToken(CepParser.MINUTE, 0)

        def HOUR(self):
            return self.getToken(CepParser.HOUR, 0)

        def DAY(self):
            return self.getToken(CepParser.DAY, 0)

        def getRuleIndex(self):
            return CepParser.RULE_duration




    def duration(self):

        localctx = CepParser.DurationContext(self, self._ctx, self.state)
        self.enterRule(localctx, 38, self.RULE_duration)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 294
            localctx.number = self._input.LT(1)
            _la = self._input.LA(1)
            if not(_la==37 or _la==38):
                localctx.number = self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
            self.state = 295
            localctx.unit = self._input.LT(1)
            _la = self._input.LA(1)
            if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 33285996544) != 0)):
                localctx.unit = self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class IdentifierContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser
            self.token = None # Token

        def IDENTIFIER(self):
            return self.getToken(CepParser.IDENTIFIER, 0)

        def QUOTED(self):
            return self.getToken(CepParser.QUOTED, 0)

        def TIMESTAMP(self):
            return self.getToken(CepParser.TIMESTAMP, 0)

        def WATERMARK(self):
            return self.getToken(CepParser.WATERMARK, 0)

        def BY(self):
            return self.getToken(CepParser.BY, 0)

        def MILLISECOND(self):
            return self.getToken(CepParser.MILLISECOND, 0)

        def SECOND(self):
            return self.getToken(CepParser.SECOND, 0)

        def MINUTE(self):
            return self.getToken(CepParser.MINUTE, 0)

        def HOUR(self):
            return self.getToken(CepParser.HOUR, 0)

        def DAY(self):
            return self.getToken(CepParser.DAY, 0)

        def getRuleIndex(self):
            return CepParser.RULE_identifier




    def identifier(self):

        localctx = CepParser.IdentifierContext(self, self._ctx, self.state)
        self.enterRule(localctx, 40, self.RULE_identifier)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 297
            localctx.token = self._input.LT(1)
            _la = self._input.LA(1)
            if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 137304735744) != 0)):
                localctx.token = self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class WordContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser
            self.token = None # Token

        def IDENTIFIER(self):
            return self.getToken(CepParser.IDENTIFIER, 0)

        def QUOTED(self):
            return self.getToken(CepParser.QUOTED, 0)

        def TIMESTAMP(self):
            return self.getToken(CepParser.TIMESTAMP, 0)

        def WATERMARK(self):
            return self.getToken(CepParser.WATERMARK, 0)

        def BY(self):
            return self.getToken(CepParser.BY, 0)

        def MILLISECOND(self):
            return self.getToken(CepParser.MILLISECOND, 0)

        def SECOND(self):
            return self.getToken(CepParser.SECOND, 0)

        def MINUTE(self):
            return self.getToken(CepParser.MINUTE, 0)

        def HOUR(self):
            return self.getToken(CepParser.HOUR, 0)

        def DAY(self):
            return self.getToken(CepParser.DAY, 0)

        def STREAM(self):
            return self.getToken(CepParser.STREAM, 0)

        def PATTERN(self):
            return self.getToken(CepParser.PATTERN, 0)

        def IMPORT(self):
            return self.getToken(CepParser.IMPORT, 0)

        def SEQ(self):
            return self.getToken(CepParser.SEQ, 0)

        def DISTINCT(self):
            return self.getToken(CepParser.DISTINCT, 0)

        def AS(self):
            return self.getToken(CepParser.AS, 0)

        def IS(self):
            return self.getToken(CepParser.IS, 0)

        def NULL(self):
            return self.getToken(CepParser.NULL, 0)

        def TRUE(self):
            return self.getToken(CepParser.TRUE, 0)

        def FALSE(self):
            return self.getToken(CepParser.FALSE, 0)

        def CASE(self):
            return self.getToken(CepParser.CASE, 0)

        def WHEN(self):
            return self.getToken(CepParser.WHEN, 0)

        def THEN(self):
            return self.getToken(CepParser.THEN, 0)

        def ELSE(self):
            return self.getToken(CepParser.ELSE, 0)

        def END(self):
            return self.getToken(CepParser.END, 0)

        def getRuleIndex(self):
            return CepParser.RULE_word




    def word(self):

        localctx = CepParser.WordContext(self, self._ctx, self.state)
        self.enterRule(localctx, 42, self.RULE_word)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 299
            localctx.token = self._input.LT(1)
            _la = self._input.LA(1)
            if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 137438715934) != 0)):
                localctx.token = self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx





